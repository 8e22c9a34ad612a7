# Homebrew formula. `cargo xtask dist` fills in the version and the sums of the
# archives that it made, and leaves out platforms for which there is none.
class MemoryForge < Formula
  desc "Persistent, searchable, auditable memory for coding agents"
  homepage "{homepage}"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]

{platforms}
  def install
    bin.install "memory-forge"
    bash_completion.install "completions/memory-forge.bash" => "memory-forge"
    zsh_completion.install "completions/_memory-forge"
    fish_completion.install "completions/memory-forge.fish"
    man1.install Dir["man/*.1"]
  end

  test do
    (testpath/"knowledge/tides.md").write "# Tides\n\nHigh water at noon.\n"
    assert_match "knowledge/tides.md", shell_output("#{bin}/memory-forge search noon --mode text")
  end
end
