fn main() -> std::process::ExitCode {
    godwit_server::cli::main()
}
