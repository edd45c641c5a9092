/** What holds in a conversation: what members may do, and how long messages stay. */

import type { Conversation } from "@godwit/sdk";

import { type Key, t } from "../../i18n/index.js";
import { attempt } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { duration } from "../names.js";

type Permission = keyof NonNullable<Conversation["permissions"]>;

const PERMISSIONS: readonly [Permission, Key][] = [
  ["members_may_send", "rules.send"],
  ["members_may_add_members", "rules.add"],
  ["members_may_edit", "rules.edit"],
  ["anyone_may_join", "rules.join"],
];

export function Rules({ conversation }: { conversation: Conversation }) {
  const session = useSession();
  const change = async (permission: Permission, allowed: boolean) => {
    const update = { permissions: { [permission]: allowed } };
    const saved = await attempt(session.http.conversations.update(conversation.id, update));
    if (saved) {
      session.learn(saved.value);
    }
  };
  return (
    <section>
      <h3>{t("rules.title")}</h3>
      {PERMISSIONS.map(([permission, key]) => (
        <label class="check" key={permission}>
          <input
            type="checkbox"
            checked={conversation.permissions?.[permission] === true}
            onChange={(event) => void change(permission, event.currentTarget.checked)}
          />
          <span>{t(key)}</span>
        </label>
      ))}
    </section>
  );
}

/** An hour, a day, a week, thirty days. */
const TIMERS_SECS = [3_600, 86_400, 604_800, 2_592_000];

export function Timer({ conversation }: { conversation: Conversation }) {
  const session = useSession();
  const current = conversation.message_ttl_secs ?? 0;
  const options = [...new Set([...TIMERS_SECS, ...(current === 0 ? [] : [current])])].sort(
    (one, other) => one - other,
  );
  const change = async (secs: number) => {
    const saved = await attempt(
      session.http.conversations.update(conversation.id, {
        message_ttl_secs: secs === 0 ? null : secs,
      }),
    );
    if (saved) {
      session.learn(saved.value);
    }
  };
  return (
    <section>
      <label class="field field-row">
        <span>{t("rules.timer")}</span>
        <select value={String(current)} onChange={(event) => void change(Number(event.currentTarget.value))}>
          <option value="0">{t("rules.timer_off")}</option>
          {options.map((secs) => (
            <option key={secs} value={String(secs)}>
              {duration(secs)}
            </option>
          ))}
        </select>
      </label>
    </section>
  );
}
