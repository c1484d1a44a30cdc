/// Certificates and keys made for the tests, valid from 2020 to 2120 where nothing else is said. They protect nothing.
///
/// They are committed rather than made by each run, so that the tests need no program and no further library.
package enum TestAuthority {
  /// The authority that vouches for the servers below.
  package static let root = """
    -----BEGIN CERTIFICATE-----
    MIIBezCCASCgAwIBAgICEAAwCgYIKoZIzj0EAwIwIzEhMB8GA1UEAwwYSGVhcnRo
    IHRlc3QgYXV0aG9yaXR5IGNhMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAw
    MDAwWjAjMSEwHwYDVQQDDBhIZWFydGggdGVzdCBhdXRob3JpdHkgY2EwWTATBgcq
    hkjOPQIBBggqhkjOPQMBBwNCAATRIcUcnLRnHycQ184trW6DbPVn1dH0/cLPyOLQ
    uBgEbQngs7IYIXp/EfM/ak/Ank9w+Q4S3ZPA9jSpj3mGUEQ+o0IwQDAPBgNVHRMB
    Af8EBTADAQH/MA4GA1UdDwEB/wQEAwICBDAdBgNVHQ4EFgQUVOgcqhboeNteST3E
    FlW2IGNzp+MwCgYIKoZIzj0EAwIDSQAwRgIhAJlt4+b7ircddpt9Vtcyu0KncQ2U
    IGZSCACRZ1XxnkEtAiEA2e36/tkoSrg40xasV6c19qvaapCs9P9hPSryu3RdCVc=
    -----END CERTIFICATE-----
    """

  /// An authority that vouches for nobody.
  package static let otherRoot = """
    -----BEGIN CERTIFICATE-----
    MIIBgDCCASagAwIBAgICEAAwCgYIKoZIzj0EAwIwJjEkMCIGA1UEAwwbSGVhcnRo
    IHRlc3QgYXV0aG9yaXR5IG90aGVyMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAx
    MDAwMDAwWjAmMSQwIgYDVQQDDBtIZWFydGggdGVzdCBhdXRob3JpdHkgb3RoZXIw
    WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATI1utuHBwY2ZPM8QTwKcjgHPZCBSlr
    qQgPMoUia0RNFwtU2ntHzSUE1F3rkl6w/bW8zheorEG+OVCwgt2Y/CzPo0IwQDAP
    BgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQEAwICBDAdBgNVHQ4EFgQUYlKo2C6i
    mvMB95SjBJniBcFyPb4wCgYIKoZIzj0EAwIDSAAwRQIgQIc78XrnpvLN2lIDnb9W
    toUFRkvgx5kwnxpDRO78HlACIQC+Js/6NiwVmzABGHIKTEq6X67o40UHbpnByJk6
    baAqNg==
    -----END CERTIFICATE-----
    """

  /// For `localhost` and `127.0.0.1`.
  package static let server = """
    -----BEGIN CERTIFICATE-----
    MIIBqzCCAVGgAwIBAgICEAEwCgYIKoZIzj0EAwIwIzEhMB8GA1UEAwwYSGVhcnRo
    IHRlc3QgYXV0aG9yaXR5IGNhMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAw
    MDAwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMB
    BwNCAARoQkT1t7g54nO5pyOCAPphOx1ja9eFEBkPYZ1MX232rpeeHCPpFeTGt4fS
    Qz0hlNnlxeK+6T+0eP8sefjdGbBeo4GBMH8wGgYDVR0RBBMwEYIJbG9jYWxob3N0
    hwR/AAABMAwGA1UdEwEB/wQCMAAwEwYDVR0lBAwwCgYIKwYBBQUHAwEwHQYDVR0O
    BBYEFPIjfo/HFFb71UPray/j2Sl3XwGoMB8GA1UdIwQYMBaAFFToHKoW6HjbXkk9
    xBZVtiBjc6fjMAoGCCqGSM49BAMCA0gAMEUCIQDeAVgmuCUzqZt8gaF6K85PICTp
    l+zLewYR8/vrSEyeZQIgU4kGJGw6RP/zoyDpeOga9vBKxjUOIBID4eOsnNEDCFk=
    -----END CERTIFICATE-----
    """

  /// The key of ``server``.
  package static let serverKey = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQguSoqGFuAfg8VIpZ5
    VUCVw+wOwpmmdDpw+lFgBqEKb1qhRANCAARoQkT1t7g54nO5pyOCAPphOx1ja9eF
    EBkPYZ1MX232rpeeHCPpFeTGt4fSQz0hlNnlxeK+6T+0eP8sefjdGbBe
    -----END PRIVATE KEY-----
    """

  /// For `firestore.test`, a host that tests never ask for.
  package static let stranger = """
    -----BEGIN CERTIFICATE-----
    MIIBrzCCAVWgAwIBAgICEAIwCgYIKoZIzj0EAwIwIzEhMB8GA1UEAwwYSGVhcnRo
    IHRlc3QgYXV0aG9yaXR5IGNhMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAw
    MDAwWjAZMRcwFQYDVQQDDA5maXJlc3RvcmUudGVzdDBZMBMGByqGSM49AgEGCCqG
    SM49AwEHA0IABCHmCDEAUQy1/F4fYthIXrG6WKI38FnuuWf9+cj8XzfFsMs/xwDu
    B/A5tr02s28e5NERYxDAvYVqW9PnGkunOFmjgYAwfjAZBgNVHREEEjAQgg5maXJl
    c3RvcmUudGVzdDAMBgNVHRMBAf8EAjAAMBMGA1UdJQQMMAoGCCsGAQUFBwMBMB0G
    A1UdDgQWBBRQYgeeYhSG2oWoK7Vs0W8GJfiPlzAfBgNVHSMEGDAWgBRU6ByqFuh4
    215JPcQWVbYgY3On4zAKBggqhkjOPQQDAgNIADBFAiBF4oUXV1f4URrpx1MQateV
    ql5IflJX0pUVR5OaioerQwIhAMuZkdYFgvvsf+sidb3qo/tqBCao7G2YN+6YnU3X
    MdRX
    -----END CERTIFICATE-----
    """

  /// The key of ``stranger``.
  package static let strangerKey = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgBm5gpz7SjM3/6y4b
    GgZp8aGy+rncrobrYP62XxaMgaKhRANCAAQh5ggxAFEMtfxeH2LYSF6xuliiN/BZ
    7rln/fnI/F83xbDLP8cA7gfwOba9NrNvHuTREWMQwL2FalvT5xpLpzhZ
    -----END PRIVATE KEY-----
    """

  /// Another authority, which vouches for ``expired``.
  package static let pastRoot = """
    -----BEGIN CERTIFICATE-----
    MIIBfzCCASSgAwIBAgICEAAwCgYIKoZIzj0EAwIwJTEjMCEGA1UEAwwaSGVhcnRo
    IHRlc3QgYXV0aG9yaXR5IHBhc3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEw
    MDAwMDBaMCUxIzAhBgNVBAMMGkhlYXJ0aCB0ZXN0IGF1dGhvcml0eSBwYXN0MFkw
    EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELHpcSkNmKNCDxFXpfvb8r/gNtMwsNZ8F
    +TddvE4mmyQ+9KyqslFCZA5Cf+KCe5DK/Bjq2ficWRsGbUoAC04HPKNCMEAwDwYD
    VR0TAQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAgQwHQYDVR0OBBYEFN1PsQJZUQT9
    tIJ4YeP0CRPknM0QMAoGCCqGSM49BAMCA0kAMEYCIQCC/ACjqU2s/woe4Cd/ajpn
    n/PHUJfG140Qu8qnVOQ+LQIhAORdTQUVNyV6d4Rxk0d+f6Ut+KSBy5hiXKi6FERA
    Key0
    -----END CERTIFICATE-----
    """

  /// For localhost and 127.0.0.1, by ``pastRoot``, valid in January 2020 only.
  package static let expired = """
    -----BEGIN CERTIFICATE-----
    MIIBhzCCAS2gAwIBAgICEAEwCgYIKoZIzj0EAwIwJTEjMCEGA1UEAwwaSGVhcnRo
    IHRlc3QgYXV0aG9yaXR5IHBhc3QwHhcNMjAwMTAxMDAwMDAwWhcNMjAwMjAxMDAw
    MDAwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMB
    BwNCAATIx4tLK4/Dr1ToBqNuykafVZFQ/MzWU2oeRnaEF2jnU7U+63+0q9OuBzO/
    EbfKTinz2OwxrvvRg69k4GXl8iqvo14wXDAaBgNVHREEEzARgglsb2NhbGhvc3SH
    BH8AAAEwHQYDVR0OBBYEFEmZ5Txl3iJDCBLNGXDlsSDwVYZ0MB8GA1UdIwQYMBaA
    FN1PsQJZUQT9tIJ4YeP0CRPknM0QMAoGCCqGSM49BAMCA0gAMEUCIQCeiv0/xoZ5
    6ltKsYPC6OsMRGcH/I36CEsMEmf6sPyrtAIgXV6tEqRIn/75ym8mp8JRcS01fS8R
    Mo7SqWkTPjFeBQs=
    -----END CERTIFICATE-----
    """

  /// The key of ``expired``.
  package static let expiredKey = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQguC2qrYl+iAE0RsuH
    efW2Vc1J4MIKJicYCLBGXM00CKKhRANCAATIx4tLK4/Dr1ToBqNuykafVZFQ/MzW
    U2oeRnaEF2jnU7U+63+0q9OuBzO/EbfKTinz2OwxrvvRg69k4GXl8iqv
    -----END PRIVATE KEY-----
    """
}
