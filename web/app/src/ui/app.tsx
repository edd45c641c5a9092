/**
 * The components of the page.
 *
 * - here: selects one of the two main screens: sign-in or the messenger
 * - `shell`: the list (`list/`) and the conversation (`conversation/`) side by side
 * - `dialogs/`: all dialogs; `dialog` is the open one
 * - `menu`, `modal`, `avatar`, `icon`: shared components
 * - `context`: the session that a component belongs to; `page`: document-level properties, such as the title
 */

import { accounts, activeAccount } from "../model/index.js";
import { SessionContext } from "./context.js";
import { Shell } from "./shell.js";
import { SignIn } from "./sign_in.js";
import { Toasts } from "./toasts.js";

export function App() {
  const session = accounts.session.value;
  const account = activeAccount.value;
  const signingIn = accounts.adding.value || !account || account.ended === true;
  return (
    <>
      {signingIn ? (
        <SignIn ended={account?.ended ? account : undefined} key={account?.id} />
      ) : (
        session && (
          <SessionContext.Provider value={session} key={session.account.id}>
            <Shell />
          </SessionContext.Provider>
        )
      )}
      <Toasts />
    </>
  );
}
