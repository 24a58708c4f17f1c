"""The distribution: one package, ``llm_in_sandbox_studio``, in a wheel and in a checkout."""
