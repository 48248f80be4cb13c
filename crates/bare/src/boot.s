# From the entry of PVH (32 bits, no paging, EBX: the start information) to Rust in long mode.

    .section .note.Xen, "a", @note
    .balign 4
    .long 4                         # length of the name
    .long 4                         # length of the address
    .long 18                        # XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .balign 4
    .long pvh_start

    .section .text.boot, "ax", @progbits
    .code32
    .global pvh_start
pvh_start:
    cld
    mov esp, offset stack_end
    # Page tables: every address is itself, 2 MiB a page, for the first 4 GiB.
    mov edi, offset page_directories
    mov eax, 0x83                   # present, writable, large
    mov ecx, 2048
1:  mov [edi], eax
    mov dword ptr [edi + 4], 0
    add eax, 0x200000
    add edi, 8
    loop 1b
    mov dword ptr [page_directories + 8], 0     # nothing is below the stack
    mov edi, offset page_directory_pointers
    mov eax, offset page_directories + 3
    mov ecx, 4
2:  mov [edi], eax
    add eax, 0x1000
    add edi, 8
    loop 2b
    mov eax, offset page_directory_pointers + 3
    mov [page_map], eax
    mov eax, offset page_map
    mov cr3, eax
    mov eax, cr4
    or eax, 1 << 5                  # physical address extension
    mov cr4, eax
    mov ecx, 0xc0000080             # EFER
    rdmsr
    or eax, 1 << 8                  # long mode
    wrmsr
    mov eax, cr0
    or eax, 1 << 31                 # paging
    mov cr0, eax
    lgdt [descriptors_pointer]
    ljmp 8, offset long_start

    .code64
long_start:
    mov ax, 16
    mov ds, ax
    mov es, ax
    mov ss, ax
    mov edi, ebx
    xor ebp, ebp
    call start
3:  hlt
    jmp 3b

    .section .rodata.boot, "a", @progbits
    .balign 8
descriptors:
    .quad 0
    .quad 0x00af9b000000ffff        # code, 64 bits
    .quad 0x00cf93000000ffff        # data
descriptors_pointer:
    .word descriptors_pointer - descriptors - 1
    .long descriptors

    .section .bss.boot, "aw", @nobits
    .balign 4096
page_map:
    .skip 4096
page_directory_pointers:
    .skip 4096
page_directories:
    .skip 4 * 4096

    .section .stack, "aw", @nobits
    .skip 1024 * 1024
stack_end:
