internal import ArgumentParser
internal import Foundation
internal import HearthAuthentication

/// `hearth token`: prints a token of a user, signed with the secret of a server, or without a signature for development.
struct TokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Make a user's token, signed with a shared secret or unsigned for development.",
    usage: """
      hearth token --secret-file FILE --user ID --issuer ISSUER --audience AUDIENCE [<options>]
      hearth token --unsigned --user ID [--project PROJECT] [<options>]
      """,
    discussion: """
      Prints the token and nothing else. It signs for a server with --token-secret-file, as a login service does (HS256): issuer, audience \
      and secret must be those of the server. The secret is read from the file, so that no other user of the machine sees it.

      A token without a signature is accepted by a server in development only, where it makes rules see a user.

      For example, with the server of `hearth serve --token-issuer https://login.example.com --token-audience my-app \
      --token-secret-file token-secret …`:

        export HEARTH_TOKEN=$(hearth token --secret-file token-secret \\
          --issuer https://login.example.com --audience my-app \\
          --user ada --claim admin=true)
        hearth data query notes --project my-app

      With `hearth serve --in-memory --rules firestore.rules`:

        hearth data get notes/1 --token "$(hearth token --unsigned --user ada)"
      """)

  @Option(
    help: ArgumentHelp(
      "The file with the secret of at least 32 bytes that the server has as --token-secret-file.", valueName: "file"),
    completion: .file())
  var secretFile: String?

  @Flag(help: "Make a token without a signature, for a server in development.")
  var unsigned = false

  @Option(help: ArgumentHelp("The user: sub in the token, and request.auth.uid in rules.", valueName: "id"))
  var user: String

  @Option(help: ArgumentHelp("The value of iss: that of --token-issuer of the server.", valueName: "issuer"))
  var issuer: String?

  @Option(help: ArgumentHelp("The value of aud: one of --token-audience of the server.", valueName: "audience"))
  var audience: String?

  @Option(
    help: ArgumentHelp(
      "The project whose user an unsigned token names, by iss and aud as Firebase Auth sets them.",
      valueName: "project"))
  var project: String?

  @Option(
    help: ArgumentHelp(
      "A further claim, such as admin=true or 'role=\"editor\"'. Rules know it as request.auth.token.NAME. Can be repeated.",
      valueName: "name=JSON"))
  var claim: [String] = []

  @Option(help: "The minutes for which the token is valid.")
  var minutes = 60

  private static let allowedMinutes = 1...(366 * 24 * 60)

  func validate() throws {
    guard (secretFile != nil) != unsigned else {
      throw ValidationError(
        "Say how to sign: either --secret-file FILE, or --unsigned for a server in development.")
    }
    guard Self.allowedMinutes.contains(minutes) else {
      throw ValidationError(
        "--minutes is \(minutes): choose a number between 1 and \(Self.allowedMinutes.upperBound) (a year).")
    }
    _ = try userToken(from: 0)
    guard unsigned else {
      guard project == nil else {
        throw ValidationError("--project is for --unsigned: a signed token names the project in --audience.")
      }
      guard issuer != nil, audience != nil else {
        throw ValidationError(
          "--secret-file needs --issuer and --audience: those of the server (--token-issuer, --token-audience).")
      }
      return
    }
    guard issuer == nil, audience == nil else {
      throw ValidationError("--issuer and --audience are for --secret-file: nobody verifies them in an unsigned token.")
    }
  }

  /// Makes a token of the words of the command line. Mistakes in them are mistakes of use.
  private func userToken(from now: Int) throws -> UserToken {
    do {
      return try UserToken(
        user: user, issuer: issuer ?? project.map { "https://securetoken.google.com/\($0)" },
        audience: audience ?? project, validFor: minutes * 60, from: now, claims: claim)
    } catch let mistake as UserToken.Mistake {
      throw ValidationError(mistake.description)
    }
  }

  func run() async throws {
    do {
      Terminal.write(try await token())
    } catch {
      Terminal.writeError("hearth token: \(Terminal.safeLines("\(error)"))")
      throw ExitCode.failure
    }
  }

  private func token() async throws -> String {
    let token = try userToken(from: Int(Date().timeIntervalSince1970))
    guard let secretFile else { return try token.unsigned() }
    guard !SecretFile(path: secretFile).isOpenToAll else { throw OpenSecret(path: secretFile) }
    return try await token.signed(withSecretInFile: secretFile)
  }
}

/// A file with a secret that every user of the machine may read or write.
private struct OpenSecret: Error, CustomStringConvertible {
  let path: String

  var description: String {
    "Every user of this machine may read or write the secret in \"\(path)\": use chmod o-rw, and a new secret if others have seen it."
  }
}
