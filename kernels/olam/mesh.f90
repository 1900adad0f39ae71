!> The global mesh of columns, and the block of it that a rank owns.
module olam_mesh
  use, intrinsic :: iso_fortran_env, only: int64
  use mpi
  use olam_case, only: case_type
  implicit none
  private
  public :: mesh_type, make_mesh, block_of_rank, cell_of

  !> A global grid cut into blocks: rows of ranks along latitude, columns of ranks along longitude.
  type :: mesh_type
    integer :: nlat = 0, nlon = 0              !< global
    integer :: ranks_lat = 1, ranks_lon = 1
    integer :: lat0 = 0, lon0 = 0              !< 0-based offset of this rank's block
    integer :: mlat = 0, mlon = 0              !< its extent; may be 0
  end type

contains

  !> `nlat`, `nlon` > 0 give the global grid; else it grows with the ranks (weak scaling).
  function make_mesh(c, nlat, nlon, rank, ranks) result(mesh)
    type(case_type), intent(in) :: c
    integer, intent(in) :: nlat, nlon, rank, ranks
    type(mesh_type) :: mesh
    integer :: dims(2), error

    dims = 0
    if (c%decomposition == 'lat') dims(2) = 1
    call MPI_Dims_create(ranks, 2, dims, error)
    mesh%ranks_lat = dims(1)
    mesh%ranks_lon = dims(2)
    mesh%nlat = merge(nlat, dims(1)*c%columns_lat, nlat > 0)
    mesh%nlon = merge(nlon, dims(2)*c%columns_lon, nlon > 0)
    call block_of_rank(mesh, rank, mesh%lat0, mesh%lon0, mesh%mlat, mesh%mlon)
  end function

  pure subroutine block_of_rank(mesh, rank, lat0, lon0, mlat, mlon)
    type(mesh_type), intent(in) :: mesh
    integer, intent(in) :: rank
    integer, intent(out) :: lat0, lon0, mlat, mlon

    call share(mesh%nlat, mesh%ranks_lat, rank/mesh%ranks_lon, lat0, mlat)
    call share(mesh%nlon, mesh%ranks_lon, mod(rank, mesh%ranks_lon), lon0, mlon)
  end subroutine

  !> Cuts n elements into parts; the first mod(n, parts) parts have one element more.
  pure subroutine share(n, parts, part, offset, extent)
    integer, intent(in) :: n, parts, part
    integer, intent(out) :: offset, extent

    extent = n/parts
    if (part < mod(n, parts)) extent = extent + 1
    offset = part*(n/parts) + min(part, mod(n, parts))
  end subroutine

  !> The 0-based position in a global array (level, lat, lon), C order, of a local cell (all indices from 1).
  elemental function cell_of(mesh, i, j, level) result(cell)
    type(mesh_type), intent(in) :: mesh
    integer, intent(in) :: i, j, level
    integer(int64) :: cell

    cell = (int(level - 1, int64)*mesh%nlat + (mesh%lat0 + j - 1))*mesh%nlon + (mesh%lon0 + i - 1)
  end function

end module
