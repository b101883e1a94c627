"""A workload of formulas.py as a compiled function of JAX's, on the CPU and on GPUs."""


def compiled(jax, work):
    if not work.trained:
        return jax.jit(lambda *arrays: work.formula(jax.numpy, *arrays))
    gradient = jax.value_and_grad(lambda *arrays: work.formula(jax.numpy, *arrays), argnums=work.trained)
    return jax.jit(lambda *arrays: work.stepped(arrays, *gradient(*arrays)))
