/** The bans of a conversation. */

import type { Conversation } from "@godwit/sdk";

import { full } from "../../i18n/format.js";
import { t } from "../../i18n/index.js";
import { attempt } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { useLoaded } from "./loaded.js";
import { Person } from "./person.js";

const BANS_SHOWN = 200;

export function Bans({ conversation }: { conversation: Conversation }) {
  const session = useSession();
  const { groups } = session.http;
  const { id } = conversation;
  // Every ban is a log entry, so the head changes.
  const list = useLoaded(async () => {
    const page = await groups.bans(id, { limit: BANS_SHOWN });
    session.people.learn(...page.bans);
    return page;
  }, [conversation.head]);
  const bans = list.value?.bans ?? [];
  if (bans.length === 0) {
    return null;
  }
  return (
    <section>
      <h3>{t("bans.title")}</h3>
      <ul class="lines">
        {bans.map((ban) => (
          <Person key={ban.id} id={ban.id} detail={t("bans.since", { when: full(ban.banned_at) })}>
            <button
              type="button"
              class="button"
              aria-label={t("bans.lift_of", { name: ban.display_name })}
              onClick={() => void attempt(groups.unban(id, ban.id))}
            >
              {t("bans.lift")}
            </button>
          </Person>
        ))}
      </ul>
    </section>
  );
}
