!> Reads both steps of a stream of fortran_ranks back, on any number of ranks, every array rank and kind, into sections with steps,
!> backwards, of extent 1 and of none, and with a halo; then whole, on every rank: fortran_read DIRECTORY NAME.
!> What lies around a section stays as it was.
program fortran_read
  use, intrinsic :: iso_fortran_env, only: error_unit, int8, int16, int32, int64, real32, real64
  use mpi_f08, only: MPI_Comm_rank, MPI_Comm_size, MPI_COMM_WORLD, MPI_Finalize, MPI_Init
  use tailrace_f08
  implicit none
  integer, parameter :: length(6) = [3, 2, 1, 2, 2, 2], split = 4
  type(tailrace_reader) :: reader
  integer :: rank, ranks, first, last, step, i
  integer(int64), allocatable :: steps(:)
  real(real64), allocatable :: times(:)
  character(4096) :: argument(2)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  do i = 1, 2
    call get_command_argument(i, argument(i))
  end do
  first = split * rank / ranks + 1
  last = split * (rank + 1) / ranks
  call tailrace_open_read(reader, MPI_COMM_WORLD, argument(1), argument(2))
  call tailrace_get_steps(reader, steps, times)
  if (size(steps) /= 2) error stop 'there are not two steps'
  if (any(steps /= [0, 1]) .or. any(times /= [0d0, 1d0])) error stop 'wrong steps or times'
  step = 1  ! selected by the opening
  call get_all()
  step = 0
  call tailrace_select_step(reader, -2_int64)
  call get_all()
  call tailrace_select_step(reader, 1)
  step = 1
  call get_all()
  call tailrace_close_read(reader)
  call MPI_Finalize()

contains

  subroutine get_all()
    call get_ranks()
    call get_kinds()
    call get_whole_ranks()
    call get_whole_kinds()
  end subroutine

  !> `found` must be the elements from `from` to `to` along `split`, and `written` elements of its array were written to.
  subroutine compare(name, found, of_rank, from, to, written)
    character(*), intent(in) :: name
    integer(int32), intent(in) :: found(:)
    integer, intent(in) :: of_rank, from, to, written
    integer :: slice, k

    slice = product(length(:of_rank - 1))
    associate (expected => [(50 * step + k, k = slice * (from - 1), slice * to - 1)])
      if (size(found) == size(expected) .and. written == size(expected)) then
        if (all(found == expected)) return
      end if
      write (error_unit, *) name, ', step', step, ', rank', rank, ':', found, 'is not', expected, '; written:', written
    end associate
    error stop 1
  end subroutine

  subroutine get_ranks()
    integer(int32) :: p0, p1(2 * split), p2(6, split), p3(6, 2, split), p4(6, 2, 3, split), p5(6, 2, 3, 2, split), &
      p6(6, 2, 3, 2, 4, split), p7(6, 2, 1, 2, 2, 2, split)

    p1 = -1; p2 = -1; p3 = -1; p4 = -1; p5 = -1; p6 = -1; p7 = -1
    call tailrace_get(reader, 'rank_0', p0)
    call compare('rank_0', [p0], 1, 1, 1, 1)
    call tailrace_get(reader, 'rank_1', p1(2 * last:2 * first - 1:-2), [first])
    call compare('rank_1', [p1(2 * last:2 * first - 1:-2)], 1, first, last, count(p1 /= -1))
    call tailrace_get(reader, 'rank_2', p2(6:1:-2, first:last), [1, first])
    call compare('rank_2', [p2(6:1:-2, first:last)], 2, first, last, count(p2 /= -1))
    call tailrace_get(reader, 'rank_3', p3(6:1:-2, :, first:last), [1, 1, first])
    call compare('rank_3', [p3(6:1:-2, :, first:last)], 3, first, last, count(p3 /= -1))
    call tailrace_get(reader, 'rank_4', p4(6:1:-2, :, 2:2, first:last), [1, 1, 1, first])
    call compare('rank_4', [p4(6:1:-2, :, 2:2, first:last)], 4, first, last, count(p4 /= -1))
    call tailrace_get(reader, 'rank_5', p5(6:1:-2, 2:1:-1, 2:2, :, first:last), [1, 1, 1, 1, first])
    call compare('rank_5', [p5(6:1:-2, 2:1:-1, 2:2, :, first:last)], 5, first, last, count(p5 /= -1))
    call tailrace_get(reader, 'rank_6', p6(6:1:-2, :, 2:2, :, 1:4:3, first:last), [1, 1, 1, 1, 1, first])
    call compare('rank_6', [p6(6:1:-2, :, 2:2, :, 1:4:3, first:last)], 6, first, last, count(p6 /= -1))
    call tailrace_get(reader, 'rank_7', p7(5:1:-2, :, :, :, :, 2:1:-1, first:last), int([1, 1, 1, 1, 1, 1, first], int64))
    call compare('rank_7', [p7(5:1:-2, :, :, :, :, 2:1:-1, first:last)], 7, first, last, count(p7 /= -1))
  end subroutine

  !> Each with a halo.
  subroutine get_kinds()
    integer(int8) :: of_i8(0:4, 0:3, first - 1:last + 1), of_u8(0:4, 0:3, first - 1:last + 1)
    integer(int16) :: of_i16(0:4, 0:3, first - 1:last + 1)
    integer(int32) :: of_i32(0:4, 0:3, first - 1:last + 1)
    integer(int64) :: of_i64(0:4, 0:3, first - 1:last + 1)
    real(real32) :: of_f32(0:4, 0:3, first - 1:last + 1)
    real(real64) :: of_f64(0:4, 0:3, first - 1:last + 1)

    of_i8 = -1; of_u8 = -1; of_i16 = -1; of_i32 = -1; of_i64 = -1; of_f32 = -1; of_f64 = -1
    call tailrace_get(reader, 'kind_i8', of_i8(1:3, 1:2, first:last), [1, 1, first])
    call compare('kind_i8', [int(of_i8(1:3, 1:2, first:last))], 3, first, last, count(of_i8 /= -1))
    call tailrace_get(reader, 'kind_u8', of_u8(1:3, 1:2, first:last), [1, 1, first])
    call compare('kind_u8', [int(of_u8(1:3, 1:2, first:last))], 3, first, last, count(of_u8 /= -1))
    call tailrace_get(reader, 'kind_i16', of_i16(1:3, 1:2, first:last), [1, 1, first])
    call compare('kind_i16', [int(of_i16(1:3, 1:2, first:last))], 3, first, last, count(of_i16 /= -1))
    call tailrace_get(reader, 'kind_i32', of_i32(1:3, 1:2, first:last), [1, 1, first])
    call compare('kind_i32', [of_i32(1:3, 1:2, first:last)], 3, first, last, count(of_i32 /= -1))
    call tailrace_get(reader, 'kind_i64', of_i64(1:3, 1:2, first:last), [1, 1, first])
    call compare('kind_i64', [int(of_i64(1:3, 1:2, first:last))], 3, first, last, count(of_i64 /= -1))
    call tailrace_get(reader, 'kind_f32', of_f32(1:3, 1:2, first:last), [1, 1, first])
    call compare('kind_f32', [int(of_f32(1:3, 1:2, first:last))], 3, first, last, count(of_f32 > -1))
    call tailrace_get(reader, 'kind_f64', of_f64(1:3, 1:2, first:last), [1, 1, first])
    call compare('kind_f64', [int(of_f64(1:3, 1:2, first:last))], 3, first, last, count(of_f64 > -1))
  end subroutine

  subroutine get_whole_ranks()
    integer(int32) :: w0, w1(split), w2(6, split), w3(3, 2, split), w4(3, 2, 1, split), w5(3, 2, 1, 2, split), &
      w6(3, 2, 1, 2, 2, split), w7(3, 2, 1, 2, 2, 2, split)

    w2 = -1
    call tailrace_get_shared(reader, 'rank_0', w0)
    call compare('rank_0', [w0], 1, 1, 1, 1)
    call tailrace_get_shared(reader, 'rank_1', w1)
    call compare('rank_1', w1, 1, 1, split, size(w1))
    call tailrace_get_shared(reader, 'rank_2', w2(6:1:-2, :))  ! read into a copy by the compiler
    call compare('rank_2', [w2(6:1:-2, :)], 2, 1, split, count(w2 /= -1))
    call tailrace_get_shared(reader, 'rank_3', w3)
    call compare('rank_3', [w3], 3, 1, split, size(w3))
    call tailrace_get_shared(reader, 'rank_4', w4)
    call compare('rank_4', [w4], 4, 1, split, size(w4))
    call tailrace_get_shared(reader, 'rank_5', w5)
    call compare('rank_5', [w5], 5, 1, split, size(w5))
    call tailrace_get_shared(reader, 'rank_6', w6)
    call compare('rank_6', [w6], 6, 1, split, size(w6))
    call tailrace_get_shared(reader, 'rank_7', w7)
    call compare('rank_7', [w7], 7, 1, split, size(w7))
    w7 = -1
    call tailrace_get(reader, 'rank_7', w7)  ! without start
    call compare('rank_7', [w7], 7, 1, split, size(w7))
  end subroutine

  subroutine get_whole_kinds()
    integer(int8) :: of_i8(3, 2, split), of_u8(3, 2, split)
    integer(int16) :: of_i16(3, 2, split)
    integer(int32) :: of_i32(3, 2, split)
    integer(int64) :: of_i64(3, 2, split)
    real(real32) :: of_f32(3, 2, split)
    real(real64) :: of_f64(3, 2, split)

    call tailrace_get_shared(reader, 'kind_i8', of_i8)
    call compare('kind_i8', [int(of_i8)], 3, 1, split, size(of_i8))
    call tailrace_get_shared(reader, 'kind_u8', of_u8)
    call compare('kind_u8', [int(of_u8)], 3, 1, split, size(of_u8))
    call tailrace_get_shared(reader, 'kind_i16', of_i16)
    call compare('kind_i16', [int(of_i16)], 3, 1, split, size(of_i16))
    call tailrace_get_shared(reader, 'kind_i32', of_i32)
    call compare('kind_i32', [of_i32], 3, 1, split, size(of_i32))
    call tailrace_get_shared(reader, 'kind_i64', of_i64)
    call compare('kind_i64', [int(of_i64)], 3, 1, split, size(of_i64))
    call tailrace_get_shared(reader, 'kind_f32', of_f32)
    call compare('kind_f32', [int(of_f32)], 3, 1, split, size(of_f32))
    call tailrace_get_shared(reader, 'kind_f64', of_f64)
    call compare('kind_f64', [int(of_f64)], 3, 1, split, size(of_f64))
  end subroutine
end program
