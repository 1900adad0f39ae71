# ruff: noqa: F403, F405  the names of recipes
from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage
from spack_repo.tailrace.packages.tailrace.package import CMAKE_CHOICES, LIBRARIES


class PyTailrace(PythonPackage):
    """Tailrace for Python, with the command line; the library is inside the package."""

    license("BSD-3-Clause")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("py-nanobind@2.7:", type="build")
    depends_on("py-scikit-build-core@0.11:", type="build")
    for library in LIBRARIES:
        depends_on(library)

    depends_on("python@3.11:", type=("build", "run"))
    for needed in (
        "iced-x86",
        "numpy",
        "pyelftools",
        "rich",
        "tomli-w",
        "typer",
    ):
        depends_on(f"py-{needed}", type=("build", "run"))

    def config_settings(self, spec, prefix):
        return {f"cmake.define.{name}": str(value) for name, value in CMAKE_CHOICES.items()}
