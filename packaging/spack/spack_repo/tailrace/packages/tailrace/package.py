# ruff: noqa: F403, F405  the names of recipes
from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage

# What cmake/TailraceDependencies.cmake looks for; the Python package needs the same.
LIBRARIES = ("hdf5@1.10.8: +hl", "libdeflate", "mpi", "nlohmann-json@3.10:", "tomlplusplus", "utf8proc", "xxhash", "zstd")

# pkg-config knows Spack's HDF5 by its plain name; Spack itself chooses what to compile for.
CMAKE_CHOICES = {"TAILRACE_TESTS": False, "TAILRACE_HDF5": "hdf5", "TAILRACE_ARCH": ""}


class Tailrace(CMakePackage):
    """Parallel output of simulations: named distributed arrays to plain files, under a layout that is one line of configuration.

    The library for C and C++, and the Fortran module."""

    license("BSD-3-Clause")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")  # writes the Fortran module
    for library in LIBRARIES:
        depends_on(library)

    def cmake_args(self):
        compilers = {"MPI_C_COMPILER": self.spec["mpi"].mpicc, "MPI_Fortran_COMPILER": self.spec["mpi"].mpifc}
        choices = {**CMAKE_CHOICES, **compilers, "TAILRACE_PYTHON": False}
        return [self.define(name, value) for name, value in choices.items()]
