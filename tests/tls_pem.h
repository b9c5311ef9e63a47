/*
 * A certificate authority and two certificates signed by it, for the tests of TLS alone: the keys
 * are public, and nothing trusts them. Valid for 127.0.0.1 and localhost until 2126. The key of
 * the authority was thrown away.
 */
#ifndef FL_TESTS_TLS_PEM_H
#define FL_TESTS_TLS_PEM_H

static const char tls_ca[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBhzCCAS2gAwIBAgIUFO2aSZtv3dEYV+vnneJQLUAMl+UwCgYIKoZIzj0EAwIw\n"
	"GDEWMBQGA1UEAwwNRmx1aWQgdGVzdCBDQTAgFw0yNjEyMDExMzEwNTVaGA8yMTI2\n"
	"MTEwNzEzMTA1NVowGDEWMBQGA1UEAwwNRmx1aWQgdGVzdCBDQTBZMBMGByqGSM49\n"
	"AgEGCCqGSM49AwEHA0IABG9RegZL+eZ8YD4cfoaonytGqVVPq2xBtQMTgiI/XtYd\n"
	"zDJjIToFK2UXlzH8bZEvpwUCJCMs+T2V896pkzHaC1yjUzBRMB0GA1UdDgQWBBQt\n"
	"uEKzdIHgPnLpQ4LMwA/tZWP3pjAfBgNVHSMEGDAWgBQtuEKzdIHgPnLpQ4LMwA/t\n"
	"ZWP3pjAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQDfqcVGoXv9\n"
	"OwFf1OaA7cUUXBji86XLq6TaFTDROPjSpAIgIsxDVGpTh+Jfdo31cACnCT/wlQa3\n"
	"HM8oA45bh4TC/n4=\n"
	"-----END CERTIFICATE-----\n";

static const char tls_server_cert[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBoTCCAUegAwIBAgIUBqit/0htoTeMF4tK3gjd3n4p63IwCgYIKoZIzj0EAwIw\n"
	"GDEWMBQGA1UEAwwNRmx1aWQgdGVzdCBDQTAgFw0yNjEyMDExMzEwNTVaGA8yMTI2\n"
	"MTEwNzEzMTA1NVowHDEaMBgGA1UEAwwRRmx1aWQgdGVzdCBzZXJ2ZXIwWTATBgcq\n"
	"hkjOPQIBBggqhkjOPQMBBwNCAAQxGDH8Y+a7oh2iVczeeJL4rMqx8mBJ7dra8wrL\n"
	"PA/6u1Sq+toDrWMPRk6g24uYCdgUQUqtkzpWw9s3EDxMgKklo2kwZzAaBgNVHREE\n"
	"EzARhwR/AAABgglsb2NhbGhvc3QwCQYDVR0TBAIwADAdBgNVHQ4EFgQUrsl0fbjN\n"
	"luDy5jy6hUaQyQmgnrQwHwYDVR0jBBgwFoAULbhCs3SB4D5y6UOCzMAP7WVj96Yw\n"
	"CgYIKoZIzj0EAwIDSAAwRQIhAKh0kLSND3OaZhFA1VeUKJXJ0SFmcRAMtv7zlydZ\n"
	"8KFuAiBvmlG5SMZV1ZfHBphHCRBT+Gq09CikIDsRBVuqF0z/kA==\n"
	"-----END CERTIFICATE-----\n";

static const char tls_server_key[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgPqYEFHo8P9i4uVpG\n"
	"3IRtBf8geoSQ0I3MWMdlGbv9AmGhRANCAAQxGDH8Y+a7oh2iVczeeJL4rMqx8mBJ\n"
	"7dra8wrLPA/6u1Sq+toDrWMPRk6g24uYCdgUQUqtkzpWw9s3EDxMgKkl\n"
	"-----END PRIVATE KEY-----\n";

static const char tls_client_cert[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBoTCCAUegAwIBAgIUBqit/0htoTeMF4tK3gjd3n4p63MwCgYIKoZIzj0EAwIw\n"
	"GDEWMBQGA1UEAwwNRmx1aWQgdGVzdCBDQTAgFw0yNjEyMDExMzEwNTVaGA8yMTI2\n"
	"MTEwNzEzMTA1NVowHDEaMBgGA1UEAwwRRmx1aWQgdGVzdCBjbGllbnQwWTATBgcq\n"
	"hkjOPQIBBggqhkjOPQMBBwNCAAQcKwKD0n6qXYkJOEYVjatfXuPoRX+BLBvgvdw1\n"
	"OkVf7a99UsvlJHUDoRArYd1h12IqXYqJ7dmfOJvdCk4InnH3o2kwZzAaBgNVHREE\n"
	"EzARhwR/AAABgglsb2NhbGhvc3QwCQYDVR0TBAIwADAdBgNVHQ4EFgQUHLQLNPKE\n"
	"olab2zHYFjVLakXBwdYwHwYDVR0jBBgwFoAULbhCs3SB4D5y6UOCzMAP7WVj96Yw\n"
	"CgYIKoZIzj0EAwIDSAAwRQIhANd8tPQMJ+FktuNX1CuKehRZJby1RyaqTuLU4SFU\n"
	"ottKAiAUd+iKuf7HciuAR1Avn5cewUKJXBMVwI+fbK9pDSmdxQ==\n"
	"-----END CERTIFICATE-----\n";

static const char tls_client_key[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgvAQFFrPVnX37TCJd\n"
	"JQtwzsz5wirdhsEaiRcF78JpKquhRANCAAQcKwKD0n6qXYkJOEYVjatfXuPoRX+B\n"
	"LBvgvdw1OkVf7a99UsvlJHUDoRArYd1h12IqXYqJ7dmfOJvdCk4InnH3\n"
	"-----END PRIVATE KEY-----\n";

#endif
