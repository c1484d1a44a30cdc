import HearthData

/// The folder of a demo that was run with `--keep`.
struct KeptFolder {
  let path: String
  let project: String
  /// True if the data of the backend are in the folder, too.
  let hasBackend: Bool

  /// The cache folders of the devices, in order.
  var caches: [String] { (try? CacheSearch.caches(below: path)) ?? [] }

  /// The place and the commands that show what is there.
  var inWords: String {
    let folder = ShellWord.quoted(path)
    var lines = [
      "", "The folder is kept: \(path)", "The caches in it, and what one of them holds:",
      "  hearth cache list \(folder)",
    ]
    let caches = caches
    if let first = caches.first(where: { $0.contains(DemoStory.firstDevice) }) {
      lines.append("  hearth cache documents \(ShellWord.quoted(first)) cities")
    }
    if let backup = caches.first(where: { $0.contains(DemoStory.backup) }) {
      lines += [
        "The outbox of the backup, as it was before it was sent:", "  hearth cache outbox \(ShellWord.quoted(backup))",
      ]
    }
    if hasBackend {
      lines += [
        "What the backend has, if you start it in one terminal and ask it in another:",
        "  hearth serve --data \(ShellWord.quoted("\(path)/\(DemoStory.backendFolder)"))",
        "  hearth data query cities --project \(project)",
      ]
    }
    return (lines + ["To delete it: rm -r \(folder)"]).joined(separator: "\n")
  }
}
