from sklearn.utils.estimator_checks import parametrize_with_checks

from proxqn import ChainCRF


@parametrize_with_checks([ChainCRF()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
