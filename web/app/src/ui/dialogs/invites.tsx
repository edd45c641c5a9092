import type { Conversation, Invite } from "@godwit/sdk";

import { full } from "../../i18n/format.js";
import { plural, t } from "../../i18n/index.js";
import { inviteLink } from "../../model/place.js";
import { attempt, toast } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { Icon, IconButton } from "../icon.js";
import { useLoaded } from "./loaded.js";

const DAY_MS = 24 * 60 * 60 * 1_000;
const VALID_DAYS = 7;

/** Links by which people join. */
export function Invites({ conversation }: { conversation: Conversation }) {
  const session = useSession();
  const { groups } = session.http;
  const list = useLoaded(() => groups.invites(conversation.id), [conversation.head]);
  const create = async () => {
    const expires_at = new Date(Date.now() + VALID_DAYS * DAY_MS).toISOString();
    const made = await attempt(groups.createInvite(conversation.id, { expires_at }));
    if (made) {
      list.reload();
      await copy(made.value);
    }
  };
  const revoke = async (invite: Invite) => {
    if (await attempt(groups.revokeInvite(conversation.id, invite.id))) {
      list.reload();
    }
  };
  return (
    <section>
      <h3>{t("invites.title")}</h3>
      <button type="button" class="button" onClick={() => void create()}>
        <Icon name="link" /> {plural("invites.create", VALID_DAYS)}
      </button>
      <ul class="lines">
        {list.value?.invites.map((invite) => (
          <li class="line" key={invite.id}>
            <span class="line-main">
              <input
                class="invite-link"
                readOnly
                value={inviteLink(invite.token)}
                aria-label={t("join.link")}
                dir="ltr"
              />
              <span class="quiet-text">
                {plural("invites.uses", invite.uses)}
                {invite.expires_at && ` · ${t("invites.until", { when: full(invite.expires_at) })}`}
              </span>
            </span>
            <IconButton icon="copy" label={t("invites.copy")} onClick={() => void copy(invite)} />
            <IconButton icon="trash" label={t("invites.revoke")} onClick={() => void revoke(invite)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Where the page may not write to the clipboard the link can be copied by hand: it is in a field. */
async function copy(invite: Invite): Promise<void> {
  try {
    await navigator.clipboard.writeText(inviteLink(invite.token));
    toast(t("invites.copied"));
  } catch {
    toast(t("invites.created"));
  }
}
