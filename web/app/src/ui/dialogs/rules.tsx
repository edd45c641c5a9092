/** The permissions of members, and the timer of disappearing messages. */

import type { Conversation } from "@godwit/sdk";

import { type Key, t } from "../../i18n/index.js";
import { attempt } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { duration } from "../names.js";
import { Check, Choice } from "./fields.js";

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
    return saved !== undefined;
  };
  return (
    <section>
      <h3>{t("rules.title")}</h3>
      {PERMISSIONS.map(([permission, key]) => (
        <Check
          key={permission}
          label={t(key)}
          checked={conversation.permissions?.[permission] === true}
          onChange={(allowed) => change(permission, allowed)}
        />
      ))}
    </section>
  );
}

/** One hour, one day, one week, 30 days. */
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
      <Choice
        label={t("rules.timer")}
        options={[[0, t("rules.timer_off")], ...options.map((secs) => [secs, duration(secs)] as const)]}
        value={current}
        onChange={(secs) => void change(secs)}
      />
    </section>
  );
}
