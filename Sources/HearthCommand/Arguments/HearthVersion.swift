/// The release of the program.
enum HearthVersion {
  /// The version of the newest release in CHANGELOG.md; before that, the one that is being worked on, with `-dev`.
  private static let release = "0.1.0-dev"

  /// The release, and that the program was built without optimisation if it was: such a program is several times slower.
  static var text: String {
    #if DEBUG
      "\(release) (debug build)"
    #else
      release
    #endif
  }
}
