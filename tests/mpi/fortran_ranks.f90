!> Every array rank and kind, as sections with steps, backwards, of extent 1 and of none: fortran_ranks DIRECTORY NAME OPTIONS.
!> The variables rank_1 ... rank_7 have the dimensions d1 ... and, last, `split`, rank_0 has none; kind_* have d1, d2, split. Every
!> value is 50 * step + its linear index. Step 0 is copied (and spoilt before end_step), step 1 is taken where it lies.
program fortran_ranks
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use mpi_f08, only: MPI_Comm_rank, MPI_Comm_size, MPI_COMM_WORLD, MPI_Finalize, MPI_Init
  use tailrace_f08
  implicit none
  integer, parameter :: length(6) = [3, 2, 1, 2, 2, 2], split = 4
  character(5), parameter :: dims(7) = [character(5) :: 'd1', 'd2', 'd3', 'd4', 'd5', 'd6', 'split']
  type(tailrace_stream) :: stream
  ! Larger than the sections that are put; kept to the end, because step 1 puts them where they lie.
  integer(int32), target :: p1(2 * split) = -1, p2(6, split) = -1, p3(6, 2, split) = -1, p4(6, 2, 3, split) = -1, &
    p5(6, 2, 3, 2, split) = -1, p6(6, 2, 3, 2, 4, split) = -1, p7(6, 2, 1, 2, 2, 2, split) = -1
  integer(int8), target :: of_i8(6, 2, split)
  integer(int16), target :: of_i16(6, 2, split)
  integer(int32), target :: of_i32(6, 2, split)
  integer(int64), target :: of_i64(6, 2, split)
  real(real32), target :: of_f32(6, 2, split)
  real(real64), target :: of_f64(6, 2, split)
  integer :: rank, ranks, first, last, step, i
  character(4096) :: argument(3)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  do i = 1, 3
    call get_command_argument(i, argument(i))
  end do
  first = split * rank / ranks + 1
  last = split * (rank + 1) / ranks
  call tailrace_open(stream, MPI_COMM_WORLD, argument(1), argument(2), argument(3))
  call define()
  do step = 0, 1
    call tailrace_begin_step(stream, real(step, real64))
    call put_ranks(step == 1)
    call put_kinds(step == 1)
    call tailrace_end_step(stream)
  end do
  call tailrace_close(stream)
  call MPI_Finalize()

contains

  subroutine define()
    integer :: k

    do i = 1, 6
      call tailrace_define_dim(stream, dims(i), length(i))
    end do
    call tailrace_define_dim(stream, 'split', split)
    call tailrace_define_var(stream, 'rank_0', TAILRACE_I32)
    do i = 1, 7
      call tailrace_define_var(stream, 'rank_' // achar(iachar('0') + i), TAILRACE_I32, dims([(k, k = 1, i - 1), 7]))
    end do
    call tailrace_define_var(stream, 'kind_i8', TAILRACE_I8, dims([1, 2, 7]))
    call tailrace_define_var(stream, 'kind_i16', TAILRACE_I16, dims([1, 2, 7]))
    call tailrace_define_var(stream, 'kind_i32', TAILRACE_I32, dims([1, 2, 7]))
    call tailrace_define_var(stream, 'kind_i64', TAILRACE_I64, dims([1, 2, 7]))
    call tailrace_define_var(stream, 'kind_f32', TAILRACE_F32, dims([1, 2, 7]))
    call tailrace_define_var(stream, 'kind_f64', TAILRACE_F64, dims([1, 2, 7]))
    call tailrace_define_var(stream, 'kind_u8', TAILRACE_U8, dims([1, 2, 7]))
  end subroutine

  !> This rank's values of a variable with `of_rank` dimensions, in the order of the array's elements.
  function values(of_rank) result(list)
    integer, intent(in) :: of_rank
    integer(int32), allocatable :: list(:)
    integer :: slice, k

    slice = product(length(:of_rank - 1))
    list = [(50 * step + k, k = slice * (first - 1), slice * last - 1)]
  end function

  subroutine put_ranks(keep)
    logical, intent(in) :: keep
    integer :: n

    call tailrace_put_replicated(stream, 'rank_0', 50 * step)
    n = last - first + 1
    p1(2 * last:2 * first - 1:-2) = reshape(values(1), [n])
    call tailrace_put(stream, 'rank_1', p1(2 * last:2 * first - 1:-2), [first], keep)
    if (.not. keep) p1 = -2
    p2(6:1:-2, first:last) = reshape(values(2), [3, n])
    call tailrace_put(stream, 'rank_2', p2(6:1:-2, first:last), [1, first], keep)
    if (.not. keep) p2 = -2
    p3(6:1:-2, :, first:last) = reshape(values(3), [3, 2, n])
    call tailrace_put(stream, 'rank_3', p3(6:1:-2, :, first:last), [1, 1, first], keep)
    if (.not. keep) p3 = -2
    p4(6:1:-2, :, 2:2, first:last) = reshape(values(4), [3, 2, 1, n])
    call tailrace_put(stream, 'rank_4', p4(6:1:-2, :, 2:2, first:last), [1, 1, 1, first], keep)
    if (.not. keep) p4 = -2
    p5(6:1:-2, 2:1:-1, 2:2, :, first:last) = reshape(values(5), [3, 2, 1, 2, n])
    call tailrace_put(stream, 'rank_5', p5(6:1:-2, 2:1:-1, 2:2, :, first:last), [1, 1, 1, 1, first], keep)
    if (.not. keep) p5 = -2
    p6(6:1:-2, :, 2:2, :, 1:4:3, first:last) = reshape(values(6), [3, 2, 1, 2, 2, n])
    call tailrace_put(stream, 'rank_6', p6(6:1:-2, :, 2:2, :, 1:4:3, first:last), [1, 1, 1, 1, 1, first], keep)
    if (.not. keep) p6 = -2
    p7(5:1:-2, :, :, :, :, 2:1:-1, first:last) = reshape(values(7), [3, 2, 1, 2, 2, 2, n])
    call tailrace_put(stream, 'rank_7', p7(5:1:-2, :, :, :, :, 2:1:-1, first:last), int([1, 1, 1, 1, 1, 1, first], int64), keep)
    if (.not. keep) p7 = -2
  end subroutine

  subroutine put_kinds(keep)
    logical, intent(in) :: keep
    integer :: extent(3)

    extent = [3, 2, last - first + 1]
    of_i8(6:1:-2, :, first:last) = reshape(int(values(3), int8), extent)
    of_i16(6:1:-2, :, first:last) = reshape(int(values(3), int16), extent)
    of_i32(6:1:-2, :, first:last) = reshape(values(3), extent)
    of_i64(6:1:-2, :, first:last) = reshape(int(values(3), int64), extent)
    of_f32(6:1:-2, :, first:last) = reshape(real(values(3), real32), extent)
    of_f64(6:1:-2, :, first:last) = reshape(real(values(3), real64), extent)
    call tailrace_put(stream, 'kind_i8', of_i8(6:1:-2, :, first:last), [1, 1, first], keep)
    call tailrace_put(stream, 'kind_u8', of_i8(6:1:-2, :, first:last), [1, 1, first], keep)
    call tailrace_put(stream, 'kind_i16', of_i16(6:1:-2, :, first:last), [1, 1, first], keep)
    call tailrace_put(stream, 'kind_i32', of_i32(6:1:-2, :, first:last), [1, 1, first], keep)
    call tailrace_put(stream, 'kind_i64', of_i64(6:1:-2, :, first:last), [1, 1, first], keep)
    call tailrace_put(stream, 'kind_f32', of_f32(6:1:-2, :, first:last), [1, 1, first], keep)
    call tailrace_put(stream, 'kind_f64', of_f64(6:1:-2, :, first:last), [1, 1, first], keep)
    if (.not. keep) of_i8 = -2
  end subroutine
end program
