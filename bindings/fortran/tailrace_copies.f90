!> Memory for copies of the blocks of a step. It is kept from step to step, so that a step allocates nothing.
module tailrace_copies
  use, intrinsic :: iso_c_binding, only: c_associated, c_null_ptr, c_ptr, c_size_t
  use tailrace_contract, only: contract_free, contract_malloc
  implicit none
  private
  public :: block_copies, take_copy, forget_copies, release_copies

  type :: buffer
    type(c_ptr) :: address = c_null_ptr
    integer(c_size_t) :: bytes = 0
  end type

  type :: block_copies
    private
    type(buffer), allocatable :: buffers(:)
    integer :: used = 0
  end type

contains

  !> Takes memory for the copy of a block. `address` is null if there is no memory.
  subroutine take_copy(copies, bytes, address)
    type(block_copies), intent(inout) :: copies
    integer(c_size_t), intent(in) :: bytes
    type(c_ptr), intent(out) :: address

    if (.not. allocated(copies%buffers)) allocate (copies%buffers(0))
    if (copies%used == size(copies%buffers)) copies%buffers = [copies%buffers, buffer()]
    copies%used = copies%used + 1
    associate (copy => copies%buffers(copies%used))
      if (copy%bytes < bytes) then
        call contract_free(copy%address)
        copy%address = contract_malloc(bytes)
        copy%bytes = merge(bytes, 0_c_size_t, c_associated(copy%address))
      end if
      address = copy%address
    end associate
  end subroutine

  !> Ends the use of all copies. Their memory is kept for the next step.
  subroutine forget_copies(copies)
    type(block_copies), intent(inout) :: copies

    copies%used = 0
  end subroutine

  subroutine release_copies(copies)
    type(block_copies), intent(inout) :: copies
    integer :: i

    if (allocated(copies%buffers)) then
      do i = 1, size(copies%buffers)
        call contract_free(copies%buffers(i)%address)
      end do
      deallocate (copies%buffers)
    end if
    copies%used = 0
  end subroutine
end module
