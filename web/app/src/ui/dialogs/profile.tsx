/** The profile and the password of the user. */

import { ApiError } from "@godwit/sdk";
import { useSignal } from "@preact/signals";

import { t } from "../../i18n/index.js";
import { explained, toast } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { fieldOf, HANDLE_FIELD } from "../form.js";

export function Profile() {
  const session = useSession();
  const me = session.own.me.value;
  const name = useSignal(me.display_name);
  const handle = useSignal(me.handle);
  const problem = useSignal("");
  const save = async (event: Event) => {
    event.preventDefault();
    problem.value = "";
    try {
      const update = { display_name: name.value.trim(), handle: handle.value };
      const saved = await session.http.accounts.updateMe(update);
      session.own.me.value = saved;
      session.people.learn(saved);
      toast(t("settings.saved"));
    } catch (error) {
      problem.value = explained(error);
    }
  };
  const unchanged = name.value.trim() === me.display_name && handle.value === me.handle;
  return (
    <form onSubmit={(event) => void save(event)}>
      <h3>{t("settings.profile")}</h3>
      <label class="field">
        <span>{t("sign_in.name")}</span>
        <input
          value={name.value}
          required
          maxLength={64}
          dir="auto"
          onInput={(event) => (name.value = event.currentTarget.value)}
        />
      </label>
      <label class="field">
        <span>{t("sign_in.handle")}</span>
        <input
          value={handle.value}
          {...HANDLE_FIELD}
          title={t("sign_in.handle_rule")}
          onInput={(event) => (handle.value = event.currentTarget.value)}
        />
      </label>
      <p class="problem" role="alert">
        {problem.value}
      </p>
      <button type="submit" class="button" disabled={unchanged || name.value.trim() === ""}>
        {t("action.save")}
      </button>
    </form>
  );
}

export function Password() {
  const session = useSession();
  const problem = useSignal("");
  const change = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget;
    if (!(form instanceof HTMLFormElement)) {
      return;
    }
    problem.value = "";
    const current_password = fieldOf(form, "current");
    const new_password = fieldOf(form, "new");
    try {
      await session.http.accounts.changePassword({ current_password, new_password });
      form.reset();
      toast(t("settings.saved"));
    } catch (error) {
      // This form has no username, so only the password can be wrong.
      const wrong = error instanceof ApiError && error.code === "wrong_credentials";
      problem.value = wrong ? t("error.wrong_current_password") : explained(error);
    }
  };
  return (
    <form onSubmit={(event) => void change(event)}>
      <h3>{t("settings.password")}</h3>
      <p class="quiet-text">{t("settings.password_text")}</p>
      <label class="field">
        <span>{t("settings.current_password")}</span>
        <input name="current" type="password" required autocomplete="current-password" />
      </label>
      <label class="field">
        <span>{t("settings.new_password")}</span>
        <input name="new" type="password" required minLength={8} autocomplete="new-password" />
      </label>
      <p class="problem" role="alert">
        {problem.value}
      </p>
      <button type="submit" class="button">
        {t("settings.change_password")}
      </button>
    </form>
  );
}
