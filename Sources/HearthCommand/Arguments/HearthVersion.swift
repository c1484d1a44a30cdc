/// The release of the program.
enum HearthVersion {
  /// The version of the newest release in CHANGELOG.md; before that, the one that is being worked on, with `-dev`.
  static let text = "0.1.0-dev"
}
