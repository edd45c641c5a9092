/**
 * The components of the page.
 *
 * - here: which of the two big screens is shown: signing in, or the messenger
 * - `shell`: list and conversation beside each other; `list/` and `conversation/` are those two
 * - `dialogs/`: everything that opens over them; `dialog` says which is open
 * - `menu`, `modal`, `avatar`, `icon`: pieces that all of them use
 * - `context`: the session that a component belongs to; `page`: what is outside of the application
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
