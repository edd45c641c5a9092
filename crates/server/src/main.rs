/// A message allocates and frees dozens of small objects on several threads. With the allocator of the C library, this took
/// about a quarter of the server's CPU time under load.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    godwit_server::cli::main()
}
