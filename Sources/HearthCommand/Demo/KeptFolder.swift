import HearthData

/// The folder of a demo that was run with `--keep`.
struct KeptFolder {
  let path: String
  let project: String
  /// True if the data of the backend are in the folder, too.
  let hasBackend: Bool
  /// The word that starts this program.
  let program: String

  /// The cache folders of the devices, in order.
  var caches: [String] { (try? CacheSearch.caches(below: path)) ?? [] }

  /// The place and the commands that show what is there.
  var inWords: String {
    let folder = ShellWord.quoted(path)
    var lines = [
      "", "The folder is kept: \(path)", "The caches in it, and what one of them holds:",
      "  \(program) cache list \(folder)",
    ]
    let caches = caches
    if let first = caches.first(where: { $0.contains(DemoStory.firstDevice) }) {
      lines.append("  \(program) cache documents \(ShellWord.quoted(first)) cities")
    }
    if let backup = caches.first(where: { $0.contains(DemoStory.backup) }) {
      lines += [
        "The outbox of the backup, as it was before it was sent:",
        "  \(program) cache outbox \(ShellWord.quoted(backup))",
      ]
    }
    if let refused = caches.first(where: { $0.hasPrefix("\(path)/\(DemoStory.refusedUser)/") }) {
      lines += [
        "The write over ada's note that the backend has refused, which is kept for \(DemoStory.refusedUser):",
        "  \(program) cache rejected \(ShellWord.quoted(refused))",
      ]
    }
    if hasBackend {
      lines += [
        "What the backend has, if you start it in one terminal and ask it in another:",
        "  \(program) serve --data \(ShellWord.quoted("\(path)/\(DemoStory.backendFolder)"))",
        "  \(program) data query cities --project \(project)",
      ]
    }
    return (lines + ["To delete it: rm -r \(folder)"]).joined(separator: "\n")
  }
}
