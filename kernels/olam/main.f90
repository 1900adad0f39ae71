!> The OLAM kernel: the I/O of an atmosphere model, phase by phase, with values that a formula can check. README.md has its options.
program olam
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use kernel_failure, only: kernel_name
  use kernel_phases, only: clock_s, end_phase, make_phases, phases_type, reduce_phases, start_phase
  use kernel_record, only: remove_record
  use mpi
  use olam_case, only: case_type, read_case
  use olam_compute, only: advance, start_state, state_type
  use olam_fields, only: fields_type, fill_fields, make_fields, payload_bytes
  use olam_input, only: maps_type, read_maps
  use olam_mesh, only: make_mesh, mesh_type
  use olam_output_native, only: native_gather, native_open, native_plot, native_type, native_write
  use olam_output_tailrace, only: output_close, output_open, output_plot, output_type, output_write
  use olam_phases, only: p_close, p_exec, p_gather, p_mesh, p_open, p_plot, p_read, p_write, phase_is_output, phase_names
  use olam_record, only: totals_type, write_record
  use olam_variables, only: list_variables, variable_type
  implicit none
  type(case_type) :: c
  type(mesh_type) :: mesh, history_mesh
  type(maps_type) :: maps
  type(fields_type), target :: f
  type(state_type) :: state
  type(phases_type) :: phases
  type(totals_type) :: totals
  type(native_type) :: native
  type(output_type) :: output
  type(variable_type), allocatable :: variables(:)
  integer(int64) :: payload
  real(real64) :: started, state_sum
  integer :: rank, ranks, step, error

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  kernel_name = 'olam'
  call read_case(c)
  if (rank == 0) call remove_record(c%run)
  phases = make_phases(phase_names, phase_is_output, c%steps, c%barriers)
  variables = list_variables(c)
  payload = 0
  call MPI_Barrier(MPI_COMM_WORLD, error)
  started = clock_s()

  call start_phase(phases, p_mesh)
  mesh = make_mesh(c, c%mesh_lat, c%mesh_lon, rank, ranks)
  history_mesh = make_mesh(c, c%history_lat, c%history_lon, rank, ranks)
  call end_phase(phases, p_mesh, 0)

  call start_phase(phases, p_read)
  maps = read_maps(c%input, mesh)
  call end_phase(phases, p_read, 0)

  f = make_fields(c, mesh, history_mesh, maps)
  state = start_state(maps%values, c%levels)
  state_sum = state%start_sum

  call start_phase(phases, p_open)
  call open_output()
  call end_phase(phases, p_open, 0)

  do step = 1, c%steps
    call start_phase(phases, p_exec)
    state_sum = advance(state, c%sweeps)
    call fill_fields(f, mesh, history_mesh, step)
    call end_phase(phases, p_exec, step)
    call write_step()
    payload = payload + payload_bytes(f, step == 1, rank)
  end do

  call start_phase(phases, p_close)
  call close_output()
  call end_phase(phases, p_close, 0)

  call sum_up()
  if (rank == 0) call write_record(c, ranks, mesh, history_mesh, maps, variables, phases, totals)
  call MPI_Finalize(error)

contains

  subroutine open_output()
    select case (c%output)
    case ('native')
      call native_open(native, c, variables, history_mesh, rank, ranks)
    case ('tailrace')
      call output_open(output, c, variables, mesh, history_mesh)
    end select
  end subroutine

  subroutine write_step()
    call start_phase(phases, p_plot)
    if (c%output == 'native') call native_plot(native, mesh, f, step)
    if (c%output == 'tailrace') call output_plot(output, mesh, f, step)
    call end_phase(phases, p_plot, step)

    if (c%output == 'native') then
      call start_phase(phases, p_gather)
      call native_gather(native, history_mesh, f)
      call end_phase(phases, p_gather, step)
    end if

    call start_phase(phases, p_write)
    if (c%output == 'native') call native_write(native, mesh, f, step)
    if (c%output == 'tailrace') call output_write(output, mesh, history_mesh, f, step)
    call end_phase(phases, p_write, step)
  end subroutine

  subroutine close_output()
    totals%reports = ''
    if (c%output == 'tailrace') call output_close(output, totals%reports)
  end subroutine

  subroutine sum_up()
    ! Not from module `mpi`: with MPICH and gfortran all its buffers must have the first call's type and rank.
    use mpi_f08, only: MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, MPI_INTEGER8, MPI_MAX, MPI_Reduce, MPI_SUM
    real(real64), allocatable :: map_sums(:)
    real(real64) :: seconds
    integer :: m

    seconds = clock_s() - started
    call reduce_phases(phases)
    map_sums = [(sum(real(maps%values(:, :, m), real64)), m=1, maps%count)]
    allocate (totals%map_sums, mold=map_sums)
    call MPI_Reduce(map_sums, totals%map_sums, maps%count, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
    call MPI_Reduce(state_sum, totals%state_sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
    call MPI_Reduce(seconds, totals%total_s, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, error)
    call MPI_Reduce(payload, totals%payload_bytes, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD, error)
    call MPI_Reduce(maps%read_bytes, totals%input_bytes, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD, error)
    call MPI_Reduce(native%bytes, totals%native_bytes, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD, error)
    call MPI_Reduce(native%files, totals%native_files, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD, error)
  end subroutine

end program
