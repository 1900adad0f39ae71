!> The same arrays through the library: streams history, plot and results. The layout comes from `layout=` (an option of the
!> stream), tailrace.toml or the environment; this code does not depend on it.
module olam_output_tailrace
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi, only: MPI_COMM_WORLD
  use olam_case, only: case_type
  use olam_fields, only: fields_type
  use olam_mesh, only: mesh_type
  use olam_variables, only: fields_id, history_id, level_variables, levels_id, plot_id, s_history, s_plot, s_results, scalar_id, &
    static_ids, stream_names, variable_type
  use tailrace
  implicit none
  private
  public :: output_type, output_open, output_plot, output_write, output_close

  real(real64), parameter :: hours_per_step = 6.0_real64

  type :: output_type
    type(tailrace_stream) :: streams(3)
    type(variable_type), allocatable :: variables(:)
  end type

contains

  !> Collective.
  subroutine output_open(output, c, variables, mesh, history_mesh)
    type(output_type), intent(inout) :: output
    type(case_type), intent(in) :: c
    type(variable_type), intent(in) :: variables(:)
    type(mesh_type), intent(in) :: mesh, history_mesh
    integer :: s, v

    output%variables = variables
    do s = s_history, s_plot, -1
      call tailrace_open(output%streams(s), MPI_COMM_WORLD, trim(c%dir), trim(stream_names(s)), options=options_text(c%layout))
    end do
    call define_mesh(output%streams(s_plot), mesh)
    call define_mesh(output%streams(s_results), mesh)
    call tailrace_define_dim(output%streams(s_results), 'level', c%results_levels)
    call define_mesh(output%streams(s_history), history_mesh)
    do v = 1, size(variables)
      call define_variable(output%streams(variables(v)%stream), variables(v))
    end do
  end subroutine

  !> A preset's name, or assignments of keys separated by ';': lines of TOML (a namelist cannot hold a line's end).
  function options_text(layout) result(text)
    character(*), intent(in) :: layout
    character(:), allocatable :: text
    integer :: i

    text = "mode = 'replace'"
    if (index(layout, '=') == 0) then
      if (layout /= '') text = text//new_line('a')//"layout = '"//trim(layout)//"'"
      return
    end if
    text = text//new_line('a')//trim(layout)
    do i = 1, len(text)
      if (text(i:i) == ';') text(i:i) = new_line('a')
    end do
  end function

  !> Dimensions with their coordinates (cell centres), time and the stream's attributes, after the CF conventions.
  subroutine define_mesh(stream, mesh)
    type(tailrace_stream), intent(inout) :: stream
    type(mesh_type), intent(in) :: mesh
    integer :: i

    call tailrace_put_attr(stream, TAILRACE_GLOBAL, 'title', 'OLAM kernel: values by formula, not physics')
    call tailrace_put_attr(stream, 'time', 'units', 'hours since 2001-01-01 00:00:00')
    call tailrace_put_attr(stream, 'time', 'calendar', 'standard')
    call define_coordinate(stream, 'lat', 'latitude', 'degrees_north', &
                           [(-90 + (2*i - 1)*90.0_real64/mesh%nlat, i=1, mesh%nlat)])
    call define_coordinate(stream, 'lon', 'longitude', 'degrees_east', &
                           [((2*i - 1)*180.0_real64/mesh%nlon, i=1, mesh%nlon)])
  end subroutine

  subroutine define_coordinate(stream, name, standard_name, units, values)
    type(tailrace_stream), intent(inout) :: stream
    character(*), intent(in) :: name, standard_name, units
    real(real64), intent(in) :: values(:)

    call tailrace_define_dim(stream, name, size(values))
    call tailrace_define_var(stream, name, TAILRACE_F64, [name], flags=TAILRACE_STATIC + TAILRACE_REPLICATED)
    call tailrace_put_attr(stream, name, 'standard_name', standard_name)
    call tailrace_put_attr(stream, name, 'units', units)
    call tailrace_put_replicated(stream, name, values)
  end subroutine

  subroutine define_variable(stream, variable)
    type(tailrace_stream), intent(inout) :: stream
    type(variable_type), intent(in) :: variable
    character(:), allocatable :: name

    name = trim(variable%name)   ! an associate name of an expression is freed twice by gfortran 12
    if (any(static_ids == variable%id)) then
      call tailrace_define_var(stream, name, variable%element_type, [character(3) :: 'lon', 'lat'], flags=TAILRACE_STATIC)
    else if (variable%levels > 0) then
      call tailrace_define_var(stream, name, variable%element_type, [character(5) :: 'lon', 'lat', 'level'])
    else if (variable%levels == 0) then
      call tailrace_define_var(stream, name, variable%element_type, [character(3) :: 'lon', 'lat'])
    else
      call tailrace_define_var(stream, name, variable%element_type)
    end if
    call tailrace_put_attr(stream, name, 'units', trim(variable%units))
    call tailrace_put_attr(stream, name, 'long_name', name)
  end subroutine

  !> Collective.
  subroutine output_plot(output, mesh, f, step)
    type(output_type), intent(inout) :: output
    type(mesh_type), intent(in) :: mesh
    type(fields_type), intent(in), target :: f
    integer, intent(in) :: step
    integer :: n

    associate (stream => output%streams(s_plot))
      call tailrace_begin_step(stream, step*hours_per_step)
      do n = 1, size(f%plot, 3)
        call tailrace_put(stream, name_of(output, plot_id + n), f%plot(:, :, n), start=corner(mesh), keep=.true.)
      end do
      call tailrace_end_step(stream)
    end associate
  end subroutine

  !> Collective. Results, then history.
  subroutine output_write(output, mesh, history_mesh, f, step)
    type(output_type), intent(inout) :: output
    type(mesh_type), intent(in) :: mesh, history_mesh
    type(fields_type), intent(in), target :: f
    integer, intent(in) :: step
    integer :: n

    associate (stream => output%streams(s_results))
      call tailrace_begin_step(stream, step*hours_per_step)
      do n = 1, level_variables
        call tailrace_put(stream, name_of(output, levels_id + n), f%levels(:, :, :, n), start=[corner(mesh), 1], keep=.true.)
      end do
      do n = 1, size(f%fields, 3)
        call tailrace_put(stream, name_of(output, fields_id + n), f%fields(:, :, n), start=corner(mesh), keep=.true.)
      end do
      if (step == 1) call tailrace_put(stream, name_of(output, static_ids(1)), f%topography, start=corner(mesh), keep=.true.)
      if (step == 1) call tailrace_put(stream, name_of(output, static_ids(2)), f%land_mask, start=corner(mesh), keep=.true.)
      call tailrace_end_step(stream)
    end associate
    associate (stream => output%streams(s_history))
      call tailrace_begin_step(stream, step*hours_per_step)
      do n = 1, size(f%history, 3)
        call tailrace_put(stream, name_of(output, history_id + n), f%history(:, :, n), start=corner(history_mesh), keep=.true.)
      end do
      do n = 1, size(f%scalars)
        call tailrace_put_replicated(stream, name_of(output, scalar_id + n), f%scalars(n))
      end do
      call tailrace_end_step(stream)
    end associate
  end subroutine

  !> Collective. `reports` are the streams' reports on this rank, as the members of a JSON object.
  subroutine output_close(output, reports)
    type(output_type), intent(inout) :: output
    character(:), allocatable, intent(out) :: reports
    character(:), allocatable :: json
    integer :: s

    reports = ''
    do s = 1, size(output%streams)
      call tailrace_report(output%streams(s), json)
      if (s > 1) reports = reports//', '
      reports = reports//'"'//trim(stream_names(s))//'": '//json
      call tailrace_close(output%streams(s))
    end do
  end subroutine

  pure function corner(mesh) result(start)
    type(mesh_type), intent(in) :: mesh
    integer :: start(2)

    start = [mesh%lon0 + 1, mesh%lat0 + 1]
  end function

  pure function name_of(output, id) result(name)
    type(output_type), intent(in) :: output
    integer, intent(in) :: id
    character(:), allocatable :: name

    name = trim(output%variables(findloc(output%variables%id, id, dim=1))%name)
  end function

end module
