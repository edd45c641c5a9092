import { useSignal } from "@preact/signals";

import { t } from "../i18n/index.js";
import { accounts, type KnownAccount } from "../model/index.js";
import { explained } from "../model/tasks.js";
import { isolated } from "../text/index.js";
import { fieldOf, HANDLE_FIELD } from "./form.js";

/** Sign-in and registration: the same form, with one more field for registration. */
export function SignIn({ ended }: { ended: KnownAccount | undefined }) {
  const registering = useSignal(false);
  const busy = useSignal(false);
  const problem = useSignal("");

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget;
    if (!(form instanceof HTMLFormElement)) {
      return;
    }
    const field = (name: string) => fieldOf(form, name);
    busy.value = true;
    problem.value = "";
    try {
      await (registering.value
        ? accounts.register(field("handle"), field("name"), field("password"))
        : accounts.signIn(field("handle"), field("password")));
    } catch (error) {
      problem.value = explained(error);
    } finally {
      busy.value = false;
    }
  };
  const turn = () => {
    registering.value = !registering.value;
    problem.value = "";
  };

  return (
    <main class="sign-in">
      <form class="sign-in-card" onSubmit={(event) => void submit(event)}>
        <img class="sign-in-logo" src="/icon.svg" alt="" width="64" height="64" />
        <h1>{registering.value ? t("sign_in.register_title") : t("sign_in.title")}</h1>
        {ended && !accounts.adding.value && (
          <p class="sign-in-note" role="status">
            {t("sign_in.ended", { handle: ended.handle })}
          </p>
        )}
        <label class="field">
          <span>{t("sign_in.handle")}</span>
          <input
            name="handle"
            defaultValue={ended?.handle ?? ""}
            {...HANDLE_FIELD}
            title={t("sign_in.handle_rule")}
            autocomplete="username"
          />
        </label>
        {registering.value && (
          <label class="field">
            <span>{t("sign_in.name")}</span>
            <input name="name" maxLength={64} autocomplete="name" dir="auto" />
          </label>
        )}
        <label class="field">
          <span>{t("sign_in.password")}</span>
          <input
            name="password"
            type="password"
            required
            minLength={8}
            autocomplete={registering.value ? "new-password" : "current-password"}
          />
        </label>
        <p class="problem" role="alert">
          {problem.value}
        </p>
        <button type="submit" class="button primary" disabled={busy.value}>
          {registering.value ? t("sign_in.register") : t("sign_in.enter")}
        </button>
        <button type="button" class="button quiet" onClick={turn}>
          {registering.value ? t("sign_in.have_account") : t("sign_in.need_account")}
        </button>
        {accounts.adding.value ? (
          <button type="button" class="button quiet" onClick={() => (accounts.adding.value = false)}>
            {t("action.cancel")}
          </button>
        ) : (
          ended && <OtherWays ended={ended} />
        )}
      </form>
    </main>
  );
}

/** After a sign-out: switch to another account, or remove this one from the browser. */
function OtherWays({ ended }: { ended: KnownAccount }) {
  const others = accounts.list.value.filter((account) => account.id !== ended.id && !account.ended);
  return (
    <>
      {others.map((account) => (
        <button
          type="button"
          class="button quiet"
          key={account.id}
          onClick={() => void accounts.switchTo(account.id)}
        >
          {t("account.switch", { name: `${isolated(account.name)} (@${account.handle})` })}
        </button>
      ))}
      <button type="button" class="button quiet" onClick={() => void accounts.remove(ended.id)}>
        {t("sign_in.remove", { handle: ended.handle })}
      </button>
    </>
  );
}
