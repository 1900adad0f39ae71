!> The arrays that are written: this rank's blocks, filled by the formula for each output step.
module olam_fields
  use, intrinsic :: iso_fortran_env, only: int64, int8, real32, real64
  use olam_case, only: case_type
  use kernel_formula, only: formula
  use olam_input, only: maps_type
  use olam_mesh, only: cell_of, mesh_type
  use olam_variables, only: fields_id, history_id, level_variables, levels_id, plot_id, scalar_id, scalar_variables
  implicit none
  private
  public :: fields_type, make_fields, fill_fields, payload_bytes

  type :: fields_type
    real(real32), allocatable :: topography(:, :)        !< (lon, lat); does not change
    integer(int8), allocatable :: land_mask(:, :)
    real(real32), allocatable :: plot(:, :, :)           !< (lon, lat, field)
    real(real32), allocatable :: levels(:, :, :, :)      !< (lon, lat, level, field)
    real(real64), allocatable :: fields(:, :, :)         !< (lon, lat, field)
    real(real64), allocatable :: history(:, :, :)        !< (lon, lat, field) on the history mesh
    real(real64) :: scalars(scalar_variables) = 0        !< the same on every rank
  end type

contains

  function make_fields(c, mesh, history_mesh, maps) result(f)
    type(case_type), intent(in) :: c
    type(mesh_type), intent(in) :: mesh, history_mesh
    type(maps_type), intent(in) :: maps
    type(fields_type) :: f

    f%topography = maps%values(:, :, 1)
    f%land_mask = int(maps%values(:, :, 2), int8)
    allocate (f%plot(mesh%mlon, mesh%mlat, c%plot_fields))
    allocate (f%levels(mesh%mlon, mesh%mlat, c%results_levels, level_variables))
    allocate (f%fields(mesh%mlon, mesh%mlat, c%results_fields))
    allocate (f%history(history_mesh%mlon, history_mesh%mlat, c%history_fields))
  end function

  subroutine fill_fields(f, mesh, history_mesh, step)
    type(fields_type), intent(inout) :: f
    type(mesh_type), intent(in) :: mesh, history_mesh
    integer, intent(in) :: step
    integer :: i, j, k, n

    do n = 1, size(f%plot, 3)
      do j = 1, mesh%mlat
        f%plot(:, j, n) = real(formula(plot_id + n, step, row(mesh, j, 1)), real32)
      end do
    end do
    do n = 1, level_variables
      do k = 1, size(f%levels, 3)
        do j = 1, mesh%mlat
          f%levels(:, j, k, n) = real(formula(levels_id + n, step, row(mesh, j, k)), real32)
        end do
      end do
    end do
    do n = 1, size(f%fields, 3)
      do j = 1, mesh%mlat
        f%fields(:, j, n) = formula(fields_id + n, step, row(mesh, j, 1))
      end do
    end do
    do n = 1, size(f%history, 3)
      do j = 1, history_mesh%mlat
        f%history(:, j, n) = formula(history_id + n, step, row(history_mesh, j, 1))
      end do
    end do
    f%scalars = [(formula(scalar_id + i, step, 0_int64), i=1, scalar_variables)]
  end subroutine

  !> The global positions of a row of the block.
  pure function row(mesh, j, level) result(cells)
    type(mesh_type), intent(in) :: mesh
    integer, intent(in) :: j, level
    integer(int64) :: cells(mesh%mlon)
    integer :: i

    cells = cell_of(mesh, [(i, i=1, mesh%mlon)], j, level)
  end function

  !> Bytes of field data that this rank owns in one step; the scalars are counted on rank 0.
  pure function payload_bytes(f, first_step, rank) result(bytes)
    type(fields_type), intent(in) :: f
    logical, intent(in) :: first_step
    integer, intent(in) :: rank
    integer(int64) :: bytes

    bytes = 4*(size(f%plot, kind=int64) + size(f%levels, kind=int64)) + 8*(size(f%fields, kind=int64) + size(f%history, kind=int64))
    if (first_step) bytes = bytes + 5*size(f%topography, kind=int64)
    if (rank == 0) bytes = bytes + 8*scalar_variables
  end function

end module
