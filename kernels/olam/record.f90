!> The record of a run, as JSON: its options, seconds by phase, bytes and files. README.md explains the members.
module olam_record
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use kernel_phases, only: phases_type
  use kernel_record, only: close_record, long, number, open_record, return_seconds, text, whole, write_phases
  use olam_case, only: case_type
  use olam_input, only: maps_type
  use olam_mesh, only: mesh_type
  use olam_variables, only: stream_names, t_f32, t_f64, variable_type
  implicit none
  private
  public :: totals_type, write_record

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

  !> Writes the record to c%run, or to standard output where that is ''. A failed write fails the run.
  subroutine write_record(c, ranks, mesh, history_mesh, maps, variables, phases, totals)
    type(case_type), intent(in) :: c
    integer, intent(in) :: ranks
    type(mesh_type), intent(in) :: mesh, history_mesh
    type(maps_type), intent(in) :: maps
    type(variable_type), intent(in) :: variables(:)
    type(phases_type), intent(in) :: phases
    type(totals_type), intent(in) :: totals
    integer :: unit, step

    unit = open_record(c%run)
    write (unit, '(a)') '{"kernel": "olam", "ranks": '//whole(ranks)//','
    call write_case(unit, c, ranks, mesh, history_mesh)
    call write_variables(unit, variables)
    call write_maps(unit, maps, totals)
    call write_phases(unit, phases)
    write (unit, '(a)') ' "time_to_return_s": '//number(return_seconds(phases))//', "total_s": '//number(totals%total_s)//','
    write (unit, '(a)') ' "payload_bytes": '//long(totals%payload_bytes)//', "input_bytes": '//long(totals%input_bytes)//','
    if (c%output == 'native') write (unit, '(a)') ' "bytes": '//long(totals%native_bytes)//', "files": '// &
      long(totals%native_files)//','
    write (unit, '(a)') ' "state_sum": '//number(totals%state_sum)//','
    write (unit, '(a)') ' "streams": {'//totals%reports//'}}'
    call close_record(unit)
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

end module
