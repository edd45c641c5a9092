import { useSignal } from "@preact/signals";

import { type Key, t } from "../../i18n/index.js";
import { askPermission, permission } from "../../model/notifications.js";
import { languageChoice, theme } from "../../model/settings.js";
import { attempt, toast } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { fieldOf } from "../form.js";
import { Modal } from "../modal.js";
import { closeDialog } from "./state.js";

export function Settings() {
  return (
    <Modal title={t("account.settings")} onClose={closeDialog}>
      <Profile />
      <section>
        <h3>{t("settings.appearance")}</h3>
        <Choice
          label={t("settings.theme")}
          options={THEMES}
          value={theme.value}
          onChange={(next) => (theme.value = next)}
        />
        <Choice
          label={t("settings.language")}
          options={LANGUAGES}
          value={languageChoice.value}
          onChange={(next) => (languageChoice.value = next)}
        />
      </section>
      <Notifications />
      <Privacy />
      <Password />
    </Modal>
  );
}

const THEMES = { system: "settings.system", light: "settings.light", dark: "settings.dark" } as const;
const LANGUAGES = { system: "settings.system", en: "settings.english", es: "settings.spanish" } as const;

interface ChoiceProps<T extends string> {
  label: string;
  options: Record<T, Key>;
  value: T;
  onChange: (value: T) => void;
}

function Choice<T extends string>({ label, options, value, onChange }: ChoiceProps<T>) {
  const names = Object.keys(options) as T[];
  return (
    <label class="field field-row">
      <span>{label}</span>
      <select
        value={value}
        onChange={(event) => {
          const chosen = names.find((name) => name === event.currentTarget.value);
          if (chosen !== undefined) {
            onChange(chosen);
          }
        }}
      >
        {names.map((name) => (
          <option key={name} value={name}>
            {t(options[name])}
          </option>
        ))}
      </select>
    </label>
  );
}

function Profile() {
  const session = useSession();
  const me = session.me.value;
  const name = useSignal(me.display_name);
  const save = async (event: Event) => {
    event.preventDefault();
    const saved = await attempt(session.http.accounts.updateMe({ display_name: name.value.trim() }));
    if (saved) {
      session.me.value = saved.value;
      session.people.learn(saved.value);
      toast(t("settings.saved"));
    }
  };
  return (
    <form onSubmit={(event) => void save(event)}>
      <h3>{t("settings.profile")}</h3>
      <label class="field">
        <span>{t("sign_in.name")}</span>
        <input
          value={name.value}
          maxLength={64}
          dir="auto"
          onInput={(event) => (name.value = event.currentTarget.value)}
        />
      </label>
      <p class="quiet-text">@{me.handle}</p>
      <button
        type="submit"
        class="button"
        disabled={name.value.trim() === "" || name.value.trim() === me.display_name}
      >
        {t("action.save")}
      </button>
    </form>
  );
}

function Notifications() {
  const state = permission.value;
  if (state === "unsupported") {
    return null;
  }
  return (
    <section>
      <h3>{t("settings.notifications")}</h3>
      {state === "default" ? (
        <button type="button" class="button" onClick={() => void askPermission()}>
          {t("settings.allow_notifications")}
        </button>
      ) : (
        <p class="quiet-text">
          {state === "granted" ? t("settings.notifications_on") : t("settings.notifications_denied")}
        </p>
      )}
    </section>
  );
}

/** What others learn of one's reading and being there. */
function Privacy() {
  const session = useSession();
  const me = session.me.value;
  const change = async (update: { read_receipts?: boolean; presence_visible?: boolean }) => {
    const saved = await attempt(session.http.accounts.updateMe(update));
    if (saved) {
      session.me.value = saved.value;
    }
  };
  return (
    <section>
      <h3>{t("settings.privacy")}</h3>
      <label class="check">
        <input
          type="checkbox"
          checked={me.read_receipts !== false}
          onChange={(event) => void change({ read_receipts: event.currentTarget.checked })}
        />
        <span>{t("settings.read_receipts")}</span>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={me.presence_visible !== false}
          onChange={(event) => void change({ presence_visible: event.currentTarget.checked })}
        />
        <span>{t("settings.presence")}</span>
      </label>
    </section>
  );
}

function Password() {
  const session = useSession();
  const change = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget;
    if (!(form instanceof HTMLFormElement)) {
      return;
    }
    const current_password = fieldOf(form, "current");
    const new_password = fieldOf(form, "new");
    if (await attempt(session.http.accounts.changePassword({ current_password, new_password }))) {
      form.reset();
      toast(t("settings.saved"));
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
      <button type="submit" class="button">
        {t("settings.change_password")}
      </button>
    </form>
  );
}
