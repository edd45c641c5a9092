import type { MayBeAddedBy, UpdateMe } from "@godwit/sdk";

import { t } from "../../i18n/index.js";
import { askPermission, permission } from "../../model/notifications.js";
import {
  type LanguageChoice,
  languageChoice,
  notificationsOn,
  type Theme,
  theme,
} from "../../model/settings.js";
import { attempt } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { Modal } from "../modal.js";
import { Check, Choice } from "./fields.js";
import { Person } from "./person.js";
import { Password, Profile } from "./profile.js";
import { closeDialog } from "./state.js";

export function Settings() {
  return (
    <Modal title={t("account.settings")} onClose={closeDialog}>
      <Profile />
      <section>
        <h3>{t("settings.appearance")}</h3>
        <Choice<Theme>
          label={t("settings.theme")}
          options={[
            ["system", t("settings.system")],
            ["light", t("settings.light")],
            ["dark", t("settings.dark")],
          ]}
          value={theme.value}
          onChange={(next) => (theme.value = next)}
        />
        <Choice<LanguageChoice>
          label={t("settings.language")}
          options={[
            ["system", t("settings.system")],
            ["en", t("settings.english")],
            ["es", t("settings.spanish")],
          ]}
          value={languageChoice.value}
          onChange={(next) => (languageChoice.value = next)}
        />
      </section>
      <Notifications />
      <Privacy />
      <Blocked />
      <Password />
    </Modal>
  );
}

function Notifications() {
  if (permission.value === "unsupported") {
    return null;
  }
  return (
    <section>
      <h3>{t("settings.notifications")}</h3>
      {permission.value === "default" && (
        <button type="button" class="button" onClick={() => void askPermission()}>
          {t("settings.allow_notifications")}
        </button>
      )}
      {permission.value === "denied" && <p class="quiet-text">{t("settings.notifications_denied")}</p>}
      {permission.value === "granted" && (
        <Check
          label={t("settings.notify")}
          checked={notificationsOn.value === "on"}
          onChange={(on) => {
            notificationsOn.value = on ? "on" : "off";
            return true;
          }}
        />
      )}
    </section>
  );
}

/** Read receipts, presence, and who may add the user to groups. */
function Privacy() {
  const session = useSession();
  const me = session.own.me.value;
  const change = async (update: UpdateMe) => {
    const saved = await attempt(session.http.accounts.updateMe(update));
    if (saved) {
      session.own.me.value = saved.value;
    }
    return saved !== undefined;
  };
  return (
    <section>
      <h3>{t("settings.privacy")}</h3>
      <Check
        label={t("settings.read_receipts")}
        checked={me.read_receipts !== false}
        onChange={(read_receipts) => change({ read_receipts })}
      />
      <Check
        label={t("settings.presence")}
        checked={me.presence_visible !== false}
        onChange={(presence_visible) => change({ presence_visible })}
      />
      <Choice<MayBeAddedBy>
        label={t("settings.added_by")}
        options={[
          ["everybody", t("settings.added_by_everybody")],
          ["contacts", t("settings.added_by_contacts")],
          ["nobody", t("settings.added_by_nobody")],
        ]}
        value={me.may_be_added_by ?? "everybody"}
        onChange={(may_be_added_by) => void change({ may_be_added_by })}
      />
      <p class="quiet-text">{t("settings.added_by_text")}</p>
    </section>
  );
}

function Blocked() {
  const { blocks } = useSession();
  const users = blocks.all;
  return (
    <section>
      <h3>{t("settings.blocked")}</h3>
      {users.length === 0 && <p class="quiet-text">{t("settings.nobody_blocked")}</p>}
      <ul class="lines">
        {users.map((id) => (
          <Person key={id} id={id}>
            <button type="button" class="button" onClick={() => void attempt(blocks.set(id, false))}>
              {t("info.unblock")}
            </button>
          </Person>
        ))}
      </ul>
    </section>
  );
}
