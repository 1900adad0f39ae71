"""Ports mpgrafic, a program of Debian that makes initial conditions for cosmological simulations: python mpgrafic.py SOURCE

SOURCE is what `apt-get source mpgrafic` has unpacked. mpgrafic writes seven cubes, each to a file of records that all ranks open;
afterwards they are the variables of one dataset, ic.nc. Each edit names a line of mpgrafic by a piece of it.
"""

from __future__ import annotations

import sys
from pathlib import Path

FILE = Path("src") / "mpgrafic.f90"

AFTER = {
    "use wrap_rfftw3d_mod": """
  use tailrace_f08
""",
    "type(c_ptr) :: plan, iplan": """
  type(tailrace_stream) :: ic
  character(9), parameter :: names(7) = [character(9) :: 'ic_deltab', 'ic_velbx', 'ic_velby', 'ic_velbz', &
    'ic_velcx', 'ic_velcy', 'ic_velcz']
  real(sp), allocatable :: cube(:, :, :)
  integer :: i
""",
    "Outer loop over components": """
  call tailrace_open(ic, mpi_comm_world, '.', 'ic')
  call tailrace_define_dim(ic, 'x', nx)
  call tailrace_define_dim(ic, 'y', ny)
  call tailrace_define_dim(ic, 'z', nz)
  do i = 1, size(names)
    call tailrace_define_var(ic, names(i), TAILRACE_F32, ['x', 'y', 'z'])
  end do
  call tailrace_put_attr(ic, TAILRACE_GLOBAL, 'dx', dx)
  call tailrace_put_attr(ic, TAILRACE_GLOBAL, 'omegam', omegam)
  call tailrace_put_attr(ic, TAILRACE_GLOBAL, 'omegav', omegav)
  call tailrace_put_attr(ic, TAILRACE_GLOBAL, 'h0', h0)
  call tailrace_begin_step(ic, astart)
""",
    "if (.not.hanning) close(10)": """
  call tailrace_end_step(ic)
  call tailrace_close(ic)
""",
}

INSTEAD_OF = {
    "call grafic_write_header(outputfile": "",
    "local_nz,local_z_start,ny,nx,outputfile": """
        cube = reshape(real(f, sp), [2*(nx/2 + 1), ny, local_nz])
        call tailrace_put(ic, trim(outputfile), cube(:nx, :, :), start=[1, 1, local_z_start + 1])
        call tailrace_put_attr(ic, trim(outputfile), 'origin', [headt%lx, headt%ly, headt%lz])
""",
}


def ported(text: str) -> str:
    lines = text.splitlines()
    for anchors, kept in ((AFTER, 1), (INSTEAD_OF, 0)):
        for anchor, ours in anchors.items():
            found = [number for number, line in enumerate(lines) if anchor in line]
            if len(found) != 1:
                raise ValueError(f"{len(found)} lines have '{anchor}', 1 expected: this is another mpgrafic than 0.3.19")
            lines[found[0] + kept : found[0] + 1] = ours.strip("\n").splitlines()
    return "\n".join(lines) + "\n"


def main(source: Path) -> None:
    (source / FILE).write_text(ported((source / FILE).read_text()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
