# Installs @NAME@ @VERSION@ for the current user:
#
#   irm @FOLDER@/install.ps1 | iex
#
# $env:MEMORY_FORGE_INSTALL_DIR   where to put the program
# $env:MEMORY_FORGE_DOWNLOAD_URL  where to get the archive
#
# The checksum of every archive is in this script. An archive with another one
# is not unpacked.
function Install-MemoryForge {
    $ErrorActionPreference = 'Stop'
    # Windows PowerShell shows progress so slowly that it doubles the time.
    $ProgressPreference = 'SilentlyContinue'
    $folder = $env:MEMORY_FORGE_INSTALL_DIR
    if (-not $folder) { $folder = Join-Path $env:LOCALAPPDATA 'Programs\@NAME@' }
    $from = $env:MEMORY_FORGE_DOWNLOAD_URL
    if (-not $from) { $from = '@FOLDER@' }
    $sums = @{
@SUMS@
    }
    # A 32-bit PowerShell hides the real processor in the first variable.
    $processor = $env:PROCESSOR_ARCHITEW6432
    if (-not $processor) { $processor = $env:PROCESSOR_ARCHITECTURE }
    # Without the outer @() a list of one would be its only text.
    $targets = @(switch ($processor) {
        'AMD64' { 'x86_64-pc-windows-msvc' }
        # Windows on ARM runs programs for x64.
        'ARM64' { 'aarch64-pc-windows-msvc', 'x86_64-pc-windows-msvc' }
        default { throw "there is no program for the processor $processor" }
    })
    $target = $targets | Where-Object { $sums.ContainsKey($_) } | Select-Object -First 1
    if (-not $target) { throw "there is no archive for $($targets[0])" }

    $temporary = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
    New-Item -ItemType Directory -Path $temporary | Out-Null
    try {
        $archive = Join-Path $temporary 'archive.zip'
        Write-Output "Fetching @NAME@ @VERSION@ for $target"
        [Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
        Invoke-WebRequest -UseBasicParsing -Uri "$from/@NAME@-v@VERSION@-$target.zip" -OutFile $archive
        $found = (Get-FileHash -Algorithm SHA256 -LiteralPath $archive).Hash
        # -ne ignores case, in which the two are written differently.
        if ($found -ne $sums[$target]) {
            throw "the archive has the checksum $found instead of $($sums[$target]); nothing was installed"
        }
        Expand-Archive -LiteralPath $archive -DestinationPath $temporary
        $unpacked = Join-Path $temporary "@NAME@-v@VERSION@-$target"
        New-Item -ItemType Directory -Force -Path $folder | Out-Null
        foreach ($file in @FILES@) {
            $source = Join-Path $unpacked $file
            if (Test-Path -LiteralPath $source) {
                Copy-Item -Force -LiteralPath $source -Destination $folder
            }
        }
        Write-Output "Installed $(Join-Path $folder '@NAME@.exe')"
        $paths = [Environment]::GetEnvironmentVariable('Path', 'User')
        if (($paths -split ';') -notcontains $folder) {
            Write-Output "Add $folder to your PATH, so that agent clients find the program"
        }
    } finally {
        Remove-Item -Recurse -Force -LiteralPath $temporary
    }
}

# The last line, so that a script which arrived in part does nothing.
Install-MemoryForge
