/// A message makes and drops some dozens of small things, on one thread and another: with the allocator of the C library
/// about a quarter of the server's time under load went there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    godwit_server::cli::main()
}
