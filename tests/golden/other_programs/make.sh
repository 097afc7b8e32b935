#!/usr/bin/env bash
# Makes the files beside this one with the programs themselves: make.sh FOLDER, which holds wapiti,
# crf_learn and crf_test. Only for a change of the data: the models are kept, and read for ever.
set -eu
cd "$(dirname "$0")"; programs=$(cd "$1" && pwd)
"$programs/wapiti" train -1 0.1 -2 0.01 -w 0 -p wapiti.patterns letters.txt letters.wapiti
"$programs/wapiti" train -1 0.1 -2 0.01 -w 0 -c -p wapiti.patterns letters.txt compact.wapiti
"$programs/wapiti" label -s -m letters.wapiti new.txt wapiti-scores.txt
"$programs/wapiti" label -s -p -m letters.wapiti new.txt wapiti-posteriors.txt
"$programs/wapiti" label -s -n 3 -m letters.wapiti new.txt wapiti-3-best.txt
"$programs/wapiti" label -s -p -n 3 -m letters.wapiti new.txt wapiti-posteriors-3-best.txt
"$programs/wapiti" label -s --force -m letters.wapiti partly.txt wapiti-forced.txt
"$programs/wapiti" label -l -c -m letters.wapiti letters.txt 2> wapiti-check.txt > /dev/null
"$programs/wapiti" dump letters.wapiti wapiti-dump.txt
"$programs/wapiti" dump --all -p 3 compact.wapiti wapiti-dump-all.txt
"$programs/crf_learn" -t -p 1 -a CRF-L2 crfpp.template letters.txt letters.crfpp > /dev/null
"$programs/crf_learn" -p 1 -f 2 -a CRF-L1 crfpp.template letters.txt frequent.crfpp > /dev/null
"$programs/crf_test" -v 2 -m letters.crfpp new.txt > crfpp-v2.txt
"$programs/crf_test" -v 1 -c 0.5 -m letters.crfpp new.txt > crfpp-v1-half.txt
"$programs/crf_test" -n 3 -m letters.crfpp new.txt > crfpp-3-best.txt
