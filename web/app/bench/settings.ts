/** Must be imported before the site: the server reads its settings from the environment. Raises the rate limits. */

const UNLIMITED = "100000000";

for (const rate of [
  "REGISTER_PER_ADDRESS",
  "SIGN_IN_PER_ADDRESS",
  "SEND_PER_USER",
  "SEND_PER_ADDRESS",
  "COMMANDS_PER_USER",
]) {
  process.env[`GODWIT_RATES__${rate}__PER_MINUTE`] = UNLIMITED;
  process.env[`GODWIT_RATES__${rate}__BURST`] = UNLIMITED;
}
