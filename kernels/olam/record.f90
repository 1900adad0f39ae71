!> The record of a run, as JSON: its options, seconds by phase, bytes and files. README.md explains the members.
module olam_record
  use, intrinsic :: iso_fortran_env, only: int64, output_unit, real64
  use olam_case, only: case_type
  use olam_failure, only: give_up
  use olam_input, only: maps_type
  use olam_mesh, only: mesh_type
  use olam_phases, only: phase_count, phase_is_output, phase_names, phases_type
  use olam_variables, only: stream_names, t_f32, t_f64, variable_type
  implicit none
  private
  public :: remove_record, totals_type, write_record

  !> Sums over the ranks, on rank 0.
  type :: totals_type
    integer(int64) :: payload_bytes = 0               !< field data, without headers
    integer(int64) :: native_bytes = 0, native_files = 0
    integer(int64) :: input_bytes = 0
    real(real64) :: total_s = 0
    real(real64) :: state_sum = 0
    real(real64), allocatable :: map_sums(:)
    character(:), allocatable :: reports              !< the library's, as members of an object
  end type

contains

  !> Removes an earlier record, so that a failed run has none.
  subroutine remove_record(c)
    type(case_type), intent(in) :: c
    integer :: unit, status

    if (c%run == '') return
    open (newunit=unit, file=c%run, status='old', iostat=status)
    if (status == 0) close (unit, status='delete', iostat=status)
  end subroutine

  !> Writes the record to c%run, or to standard output where that is ''. A failed write fails the run.
  subroutine write_record(c, ranks, mesh, history_mesh, maps, variables, phases, totals)
    type(case_type), intent(in) :: c
    integer, intent(in) :: ranks
    type(mesh_type), intent(in) :: mesh, history_mesh
    type(maps_type), intent(in) :: maps
    type(variable_type), intent(in) :: variables(:)
    type(phases_type), intent(in) :: phases
    type(totals_type), intent(in) :: totals
    integer :: unit, status, step
    character(256) :: message

    unit = output_unit
    if (c%run /= '') then
      open (newunit=unit, file=c%run, status='replace', action='write', iostat=status, iomsg=message)
      if (status /= 0) call give_up("run='"//trim(c%run)//"': "//trim(message))
    end if
    write (unit, '(a)') '{"kernel": "olam", "ranks": '//whole(ranks)//','
    call write_case(unit, c, ranks, mesh, history_mesh)
    call write_variables(unit, variables)
    call write_maps(unit, maps, totals)
    write (unit, '(a)') ' "phases": '//phase_object(phases, 0, c%steps, c%barriers)//','
    write (unit, '(a)') ' "step_phases": ['
    do step = 1, c%steps
      write (unit, '(a)') '  '//phase_object(phases, step, step, c%barriers)//trim(merge(', ', '  ', step < c%steps))
    end do
    write (unit, '(a)') ' ],'
    write (unit, '(a)') ' "time_to_return_s": '//number(return_seconds(phases))//', "total_s": '//number(totals%total_s)//','
    write (unit, '(a)') ' "payload_bytes": '//long(totals%payload_bytes)//', "input_bytes": '//long(totals%input_bytes)//','
    if (c%output == 'native') write (unit, '(a)') ' "bytes": '//long(totals%native_bytes)//', "files": '// &
      long(totals%native_files)//','
    write (unit, '(a)') ' "state_sum": '//number(totals%state_sum)//','
    write (unit, '(a)') ' "streams": {'//totals%reports//'}}'
    if (c%run /= '') close (unit)
  end subroutine

  subroutine write_case(unit, c, ranks, mesh, history_mesh)
    integer, intent(in) :: unit, ranks
    type(case_type), intent(in) :: c
    type(mesh_type), intent(in) :: mesh, history_mesh

    write (unit, '(a)') ' "case": {"output": '//text(c%output)//', "layout": '//text(c%layout)//', "dir": '//text(c%dir)// &
      ', "input": '//text(c%input)//','
    write (unit, '(a)') '  "ranks": '//whole(ranks)//', "steps": '//whole(c%steps)//', "barriers": '// &
      trim(merge('true ', 'false', c%barriers))//', "sweeps": '//whole(c%sweeps)//', "levels": '//whole(c%levels)// &
      ', "decomposition": '//text(c%decomposition)//','
    write (unit, '(a)') '  "ranks_lat": '//whole(mesh%ranks_lat)//', "ranks_lon": '//whole(mesh%ranks_lon)// &
      ', "mesh_lat": '//whole(mesh%nlat)//', "mesh_lon": '//whole(mesh%nlon)//','
    write (unit, '(a)') '  "plot_fields": '//whole(c%plot_fields)//', "results_levels": '//whole(c%results_levels)// &
      ', "results_fields": '//whole(c%results_fields)//','
    write (unit, '(a)') '  "history_lat": '//whole(history_mesh%nlat)//', "history_lon": '//whole(history_mesh%nlon)// &
      ', "history_fields": '//whole(c%history_fields)//'},'
  end subroutine

  subroutine write_variables(unit, variables)
    integer, intent(in) :: unit
    type(variable_type), intent(in) :: variables(:)
    character(3) :: code
    integer :: v

    write (unit, '(a)') ' "variables": ['
    do v = 1, size(variables)
      code = 'i1'
      if (variables(v)%element_type == t_f32) code = 'f4'
      if (variables(v)%element_type == t_f64) code = 'f8'
      write (unit, '(a)') '  {"name": '//text(variables(v)%name)//', "stream": '//text(stream_names(variables(v)%stream))// &
        ', "id": '//whole(variables(v)%id)//', "type": '//text(code)//', "levels": '//whole(int(variables(v)%levels))//'}'// &
        trim(merge(',', ' ', v < size(variables)))
    end do
    write (unit, '(a)') ' ],'
  end subroutine

  subroutine write_maps(unit, maps, totals)
    integer, intent(in) :: unit
    type(maps_type), intent(in) :: maps
    type(totals_type), intent(in) :: totals
    integer :: m

    write (unit, '(a)') ' "map_sums": {'
    do m = 1, maps%count
      write (unit, '(a)') '  '//text(maps%names(m))//': '//number(totals%map_sums(m))//trim(merge(',', ' ', m < maps%count))
    end do
    write (unit, '(a)') ' },'
  end subroutine

  !> {"1read": {"exec_s", "sync_s", "slowest_s"}, ...} summed over steps first..last; phases that did not run are left out.
  function phase_object(phases, first, last, barriers) result(json)
    type(phases_type), intent(in) :: phases
    integer, intent(in) :: first, last
    logical, intent(in) :: barriers
    character(:), allocatable :: json, sync
    integer :: p

    json = '{'
    do p = 1, phase_count
      if (all(phases%exec_min(p, first:last) < 0)) cycle
      sync = 'null'
      if (barriers) sync = number(ran(phases%sync))
      if (len(json) > 1) json = json//', '
      json = json//text(phase_names(p))//': {"exec_s": '//number(ran(phases%exec_min))//', "sync_s": '//sync// &
             ', "slowest_s": '//number(ran(phases%exec_max))//'}'
    end do
    json = json//'}'

  contains

    real(real64) function ran(seconds)
      real(real64), intent(in) :: seconds(:, 0:)

      ran = sum(seconds(p, first:last), mask=phases%exec_min(p, first:last) >= 0)
    end function
  end function

  !> The seconds of the output phases: in each, those of the slowest rank.
  function return_seconds(phases) result(seconds)
    type(phases_type), intent(in) :: phases
    real(real64) :: seconds
    integer :: p

    seconds = 0
    do p = 1, phase_count
      if (phase_is_output(p)) seconds = seconds + sum(phases%exec_max(p, :), mask=phases%exec_min(p, :) >= 0)
    end do
  end function

  pure function text(value) result(json)
    character(*), intent(in) :: value
    character(:), allocatable :: json
    character(4) :: hex
    integer :: i

    json = '"'
    do i = 1, len_trim(value)
      if (iachar(value(i:i)) < 32) then
        write (hex, '(z4.4)') iachar(value(i:i))
        json = json//'\u'//hex
        cycle
      end if
      if (value(i:i) == '"' .or. value(i:i) == '\') json = json//'\'
      json = json//value(i:i)
    end do
    json = json//'"'
  end function

  pure function whole(value) result(json)
    integer, intent(in) :: value
    character(:), allocatable :: json

    json = long(int(value, int64))
  end function

  pure function long(value) result(json)
    integer(int64), intent(in) :: value
    character(:), allocatable :: json
    character(24) :: digits

    write (digits, '(i0)') value
    json = trim(digits)
  end function

  pure function number(value) result(json)
    real(real64), intent(in) :: value
    character(:), allocatable :: json
    character(32) :: digits

    write (digits, '(es24.16e3)') value
    json = trim(adjustl(digits))
  end function

end module
