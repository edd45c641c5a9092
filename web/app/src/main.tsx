/** Where the page begins. */

import "./style/index.css";

import { render } from "preact";

import { accounts } from "./model/index.js";
import { App } from "./ui/app.js";
import { keepPageInStep } from "./ui/page.js";

const root = document.getElementById("app");
if (root) {
  keepPageInStep();
  render(<App />, root);
  await accounts.start();
}
