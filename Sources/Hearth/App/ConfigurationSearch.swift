internal import Foundation

/// The places where `FirebaseApp.configure()` looks for options.
struct ConfigurationSearch {
  /// Folders that may hold a configuration file, the first one first.
  var folders: [String]
  var environment: [String: String]

  /// The files' names, the first one first.
  static let fileNames = ["GoogleService-Info.plist", "google-services.json"]
  static let variable = "FIREBASE_CONFIG"

  /// The main bundle, the working folder and the environment of this process.
  static var ofProcess: ConfigurationSearch {
    ConfigurationSearch(
      folders: [Bundle.main.resourcePath, FileManager.default.currentDirectoryPath].compactMap { $0 },
      environment: ProcessInfo.processInfo.environment)
  }

  /// The options of the first file that exists, else those of the environment, else empty ones.
  ///
  /// A configuration that exists and is wrong is not skipped: the options then carry the error, and every operation of the app's databases
  /// reports it.
  func options() -> FirebaseOptions {
    let paths = folders.flatMap { folder in Self.fileNames.map { "\(folder)/\($0)" } }
    let found: (name: String, read: () throws(ConfigurationFault) -> FirebaseOptions)
    if let path = paths.first(where: FileManager.default.fileExists(atPath:)) {
      found = (
        "Configuration file \"\(path)\"",
        { () throws(ConfigurationFault) in try ConfigurationFile.options(contentsOfFile: path) }
      )
    } else if let text = environment[Self.variable], !text.isEmpty {
      found = ("Environment variable \(Self.variable)", { () throws(ConfigurationFault) in try fromVariable(text) })
    } else {
      return FirebaseOptions(googleAppID: "", gcmSenderID: "")
    }
    do throws(ConfigurationFault) {
      let options = try found.read()
      guard options.resolvedProjectID(environment: environment) != nil else {
        throw ConfigurationFault(message: "\(found.name) has no project id.")
      }
      return options
    } catch {
      HearthLog.error("FirebaseApp.configure(): \(error.message)")
      let options = FirebaseOptions(googleAppID: "", gcmSenderID: "")
      options.fault = error.message
      return options
    }
  }

  /// JSON, or the path of a file with it.
  private func fromVariable(_ text: String) throws(ConfigurationFault) -> FirebaseOptions {
    let isJSON = text.drop(while: \.isWhitespace).hasPrefix("{")
    do throws(ConfigurationFault) {
      return isJSON
        ? try ConfigurationFile.options(Data(text.utf8), source: "the JSON")
        : try ConfigurationFile.options(contentsOfFile: text)
    } catch {
      throw ConfigurationFault(message: "Environment variable \(Self.variable): \(error.message)")
    }
  }
}
