!> The ABL kernel: the output and restart of a pseudo-spectral code of the atmospheric boundary layer, phase by phase, with values
!> that a formula can check. README.md has its options.
program abl
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use abl_case, only: case_type, read_case
  use abl_fields, only: field_id, field_name, fill
  use abl_output_native, only: native_open, native_read, native_write
  use abl_output_tailrace, only: output_begin, output_close, output_end, output_open, output_put, output_restart
  use kernel_failure, only: give_up, kernel_name
  use kernel_phases, only: clock_s, end_phase, make_phases, phases_type, reduce_phases, start_phase
  use kernel_record, only: close_record, long, number, open_record, remove_record, return_seconds, text, whole, write_phases
  use mpi
  use tailrace, only: tailrace_stream
  implicit none
  integer, parameter :: p_read = 1, p_open = 2, p_exec = 3, p_write = 4, p_close = 5
  type(case_type) :: c
  type(phases_type) :: phases
  type(tailrace_stream) :: stream
  real(real64), allocatable :: values(:, :, :, :)
  character(:), allocatable :: report
  integer(int64) :: bytes, files
  real(real64) :: started
  integer :: rank, ranks, step, error

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  kernel_name = 'abl'
  c = read_case()
  if (rank == 0) call remove_record(c%run)
  phases = make_phases([character(7) :: '1read', '4open', '8exec', '9write', '9close'], &
                       [.false., .true., .false., .true., .true.], c%steps, c%barriers)
  allocate (values(c%nx, c%ny, c%nz, c%fields))
  bytes = 0
  files = 0
  call MPI_Barrier(MPI_COMM_WORLD, error)
  started = clock_s()

  if (c%restart > 0) then
    call start_phase(phases, p_read)
    call read_restart()
    call end_phase(phases, p_read, 0)
    call check_restart()
  end if

  call start_phase(phases, p_open)
  if (c%output == 'native') call native_open(c, rank)
  if (c%output == 'tailrace') call output_open(stream, c, ranks)
  call end_phase(phases, p_open, 0)

  do step = c%first, c%steps
    call start_phase(phases, p_exec)
    call fill_all(step)
    call end_phase(phases, p_exec, step)
    call start_phase(phases, p_write)
    call write_step()
    call end_phase(phases, p_write, step)
  end do

  call start_phase(phases, p_close)
  report = ''
  if (c%output == 'tailrace') call output_close(stream, report)
  call end_phase(phases, p_close, 0)
  call sum_up()
  call MPI_Finalize(error)

contains

  subroutine fill_all(of_step)
    integer, intent(in) :: of_step
    integer :: field

    do field = 1, c%fields
      call fill(c, rank, field, of_step, values(:, :, :, field))
    end do
  end subroutine

  subroutine write_step()
    integer :: field

    if (c%output == 'none') return
    if (c%output == 'tailrace') call output_begin(stream, step)
    do field = 1, c%fields
      if (c%output == 'tailrace') then
        call output_put(stream, c, rank, field, values(:, :, :, field))
      else
        bytes = bytes + native_write(c, rank, field, step, values(:, :, :, field))
        files = files + 1
      end if
    end do
    if (c%output == 'tailrace') call output_end(stream)
  end subroutine

  subroutine read_restart()
    integer :: field

    if (c%output == 'tailrace') call output_restart(c, rank, values)
    if (c%output /= 'native') return
    do field = 1, c%fields
      call native_read(c, rank, field, c%restart, values(:, :, :, field))
    end do
  end subroutine

  !> Checks the fields that the restart has read: they must be what was written.
  subroutine check_restart()
    real(real64), allocatable :: found(:, :, :, :)
    integer :: field

    found = values
    call fill_all(c%restart)
    do field = 1, c%fields
      if (any(found(:, :, :, field) /= values(:, :, :, field))) &
        call give_up('restart='//whole(c%restart)//': '//field_name(field)//' of rank '//whole(rank)// &
                     ' has other values than were written: use the ranks, nx, ny and nz of that run')
    end do
  end subroutine

  subroutine sum_up()
    ! Not from module `mpi`: with MPICH and gfortran all its buffers must have the first call's type and rank.
    use mpi_f08, only: MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, MPI_INTEGER8, MPI_MAX, MPI_Reduce, MPI_SUM
    integer(int64) :: all_bytes, all_files
    real(real64) :: seconds, total_s

    seconds = clock_s() - started
    call reduce_phases(phases)
    call MPI_Reduce(seconds, total_s, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, error)
    call MPI_Reduce(bytes, all_bytes, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD, error)
    call MPI_Reduce(files, all_files, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD, error)
    if (rank == 0) call write_record(total_s, all_bytes, all_files)
  end subroutine

  subroutine write_record(total_s, all_bytes, all_files)
    real(real64), intent(in) :: total_s
    integer(int64), intent(in) :: all_bytes, all_files
    integer(int64) :: payload
    integer :: unit, field

    payload = int(c%nx, int64)*c%ny*c%nz*ranks*c%fields*(c%steps - c%restart)*8
    if (c%output == 'none') payload = 0
    unit = open_record(c%run)
    write (unit, '(a)') '{"kernel": "abl", "ranks": '//whole(ranks)//','
    write (unit, '(a)') ' "case": {"output": '//text(c%output)//', "layout": '//text(c%layout)//', "dir": '//text(c%dir)//','
    write (unit, '(a)') '  "ranks": '//whole(ranks)//', "steps": '//whole(c%steps)//', "restart": '//whole(c%restart)// &
      ', "barriers": '//trim(merge('true ', 'false', c%barriers))//','
    write (unit, '(a)') '  "fields": '//whole(c%fields)//', "nx": '//whole(c%nx)//', "ny": '//whole(c%ny)//', "nz": '// &
      whole(c%nz)//'},'
    write (unit, '(a)') ' "variables": ['
    do field = 1, c%fields
      write (unit, '(a)') '  {"name": '//text(field_name(field))//', "id": '//whole(field_id(field))//'}'// &
        trim(merge(',', ' ', field < c%fields))
    end do
    write (unit, '(a)') ' ],'
    call write_phases(unit, phases)
    write (unit, '(a)') ' "time_to_return_s": '//number(return_seconds(phases))//', "total_s": '//number(total_s)//','
    if (c%output == 'native') write (unit, '(a)') ' "bytes": '//long(all_bytes)//', "files": '//long(all_files)//','
    write (unit, '(a)') ' "payload_bytes": '//long(payload)//','
    if (report == '') then
      write (unit, '(a)') ' "streams": {}}'
    else
      write (unit, '(a)') ' "streams": {"fields": '//report//'}}'
    end if
    call close_record(unit)
  end subroutine

end program
