import { type Conversation, type Invite, randomId } from "@godwit/sdk";
import { useSignal } from "@preact/signals";

import { full } from "../../i18n/format.js";
import { plural, t } from "../../i18n/index.js";
import { inviteLink } from "../../model/place.js";
import { attempt, toast } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { Icon, IconButton } from "../icon.js";
import { Choice } from "./fields.js";
import { useLoaded } from "./loaded.js";

const DAY_MS = 24 * 60 * 60 * 1_000;
const DAYS = [1, 7, 30];
const USES = [1, 10, 100];

/** The invite links of a conversation. */
export function Invites({ conversation }: { conversation: Conversation }) {
  const session = useSession();
  const { groups } = session.http;
  const list = useLoaded(() => groups.invites(conversation.id), [conversation.head]);
  const revoke = async (invite: Invite) => {
    if (await attempt(groups.revokeInvite(conversation.id, invite.id))) {
      list.reload();
    }
  };
  return (
    <section>
      <h3>{t("invites.title")}</h3>
      <NewInvite conversation={conversation} onMade={list.reload} />
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
              <span class="quiet-text">{stateOf(invite)}</span>
            </span>
            <IconButton icon="copy" label={t("invites.copy")} onClick={() => void copy(invite)} />
            <IconButton icon="trash" label={t("invites.revoke")} onClick={() => void revoke(invite)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

interface NewInviteProps {
  conversation: Conversation;
  onMade: () => void;
}

function NewInvite({ conversation, onMade }: NewInviteProps) {
  const session = useSession();
  const days = useSignal<number | undefined>(7);
  const uses = useSignal<number | undefined>(undefined);
  const create = async () => {
    const expires_at =
      days.value === undefined ? null : new Date(Date.now() + days.value * DAY_MS).toISOString();
    const invite = { client_id: randomId(), expires_at, uses_max: uses.value ?? null };
    const made = await attempt(session.http.groups.createInvite(conversation.id, invite));
    if (made) {
      onMade();
      await copy(made.value);
    }
  };
  return (
    <>
      <Choice
        label={t("invites.days")}
        options={[
          ...DAYS.map((count) => [count, plural("duration.days", count)] as const),
          [undefined, t("invites.for_ever")],
        ]}
        value={days.value}
        onChange={(next) => (days.value = next)}
      />
      <Choice
        label={t("invites.people")}
        options={[
          [undefined, t("invites.anybody")],
          ...USES.map((count) => [count, plural("invites.people_max", count)] as const),
        ]}
        value={uses.value}
        onChange={(next) => (uses.value = next)}
      />
      <button type="button" class="button" onClick={() => void create()}>
        <Icon name="link" /> {t("invites.create")}
      </button>
    </>
  );
}

/** The state of a link. Expired and used-up links are not in the list. */
function stateOf({ expires_at, uses, uses_max, works }: Invite): string {
  return [
    ...(works ? [] : [t("invites.asleep")]),
    plural("invites.uses", uses),
    ...(uses_max == null ? [] : [plural("invites.people_max", uses_max)]),
    ...(expires_at == null ? [] : [t("invites.until", { when: full(expires_at) })]),
  ].join(" · ");
}

/** If the page may not write to the clipboard, the user can copy the link from its field. */
async function copy(invite: Invite): Promise<void> {
  try {
    await navigator.clipboard.writeText(inviteLink(invite.token));
    toast(t("invites.copied"));
  } catch {
    toast(t("invites.created"));
  }
}
