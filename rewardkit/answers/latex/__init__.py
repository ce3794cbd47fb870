"""LaTeX answers as trees: tokens, a recursive descent parser, exact values, comparison by form.

Pure Python, in the calling process, after static limits. sympy may not enter: it lives in worker processes.
"""
