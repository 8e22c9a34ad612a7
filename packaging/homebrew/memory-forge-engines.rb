# Homebrew formula of the worker that talks to servers; see memory-forge.rb for
# what `cargo xtask dist` fills in.
class MemoryForgeEngines < Formula
  desc "Part of memory-forge that talks to PostgreSQL and to graph servers"
  homepage "{homepage}"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]

{platforms}
  def install
    bin.install "memory-forge-engines"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/memory-forge-engines --version")
  end
end
