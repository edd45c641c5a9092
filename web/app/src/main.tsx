/** The entry point of the page. */

import "./style/index.css";

import { render } from "preact";

import { accounts } from "./model/index.js";
import { followNotifications } from "./model/notifications.js";
import { keepPage } from "./model/version.js";
import { App } from "./ui/app.js";
import { keepPageInStep } from "./ui/page.js";

const root = document.getElementById("app");
if (root) {
  keepPageInStep();
  followNotifications();
  render(<App />, root);
  // During development, a cached page would only be in the way.
  if (import.meta.env.PROD) {
    void keepPage();
  }
  await accounts.start();
}
