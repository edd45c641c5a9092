/** The details of a conversation. */

import type { Conversation, ConversationId, User } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { plural, t } from "../../i18n/index.js";
import { titleOf } from "../../model/session.js";
import { attempt, toast } from "../../model/tasks.js";
import { isolated } from "../../text/index.js";
import { Avatar } from "../avatar.js";
import { useSession } from "../context.js";
import { Modal } from "../modal.js";
import { Bans } from "./bans.js";
import { Invites } from "./invites.js";
import { Members } from "./members.js";
import { Rules, Timer } from "./rules.js";
import { closeDialog, showDialog } from "./state.js";

export function Info({ id }: { id: ConversationId }) {
  const session = useSession();
  const conversation = session.inbox.watch(id);
  const gone = !conversation;
  // The user has left or was removed: closes the dialog.
  useEffect(() => {
    if (gone) {
      closeDialog();
    }
  }, [gone]);
  if (!conversation) {
    return null;
  }
  const staff = conversation.me.role !== "member";
  const mayEdit = staff || conversation.permissions?.members_may_edit === true;
  const title = titleOf(conversation);
  return (
    <Modal title={t("info.title")} onClose={closeDialog}>
      <div class="info-head">
        <Avatar
          id={conversation.peer?.id ?? id}
          name={title}
          group={conversation.kind !== "direct"}
          size="large"
        />
        <h3>
          <bdi>{title}</bdi>
        </h3>
        <p class="quiet-text">
          {conversation.peer
            ? `@${conversation.peer.handle}`
            : plural("info.members", conversation.member_count)}
        </p>
        {conversation.description && <p dir="auto">{conversation.description}</p>}
      </div>
      {conversation.peer ? (
        <>
          <Timer conversation={conversation} />
          <Block user={conversation.peer} />
        </>
      ) : (
        <>
          {mayEdit && <Details conversation={conversation} />}
          {mayEdit && <Timer conversation={conversation} />}
          {staff && <Rules conversation={conversation} />}
          {(staff || conversation.permissions?.members_may_add_members === true) && (
            <Invites conversation={conversation} />
          )}
          <Members conversation={conversation} />
          {staff && <Bans conversation={conversation} />}
          <Ending conversation={conversation} />
        </>
      )}
    </Modal>
  );
}

function Details({ conversation }: { conversation: Conversation }) {
  const session = useSession();
  const name = useSignal(conversation.name);
  const description = useSignal(conversation.description ?? "");
  const save = async (event: Event) => {
    event.preventDefault();
    const update = { name: name.value.trim(), description: description.value.trim() || null };
    const saved = await attempt(session.http.conversations.update(conversation.id, update));
    if (saved) {
      session.learn(saved.value);
      toast(t("settings.saved"));
    }
  };
  return (
    <form onSubmit={(event) => void save(event)}>
      <h3>{t("info.details")}</h3>
      <label class="field">
        <span>{t("new.group_name")}</span>
        <input
          value={name.value}
          required
          maxLength={100}
          dir="auto"
          onInput={(event) => (name.value = event.currentTarget.value)}
        />
      </label>
      <label class="field">
        <span>{t("info.description")}</span>
        <textarea
          rows={2}
          maxLength={2000}
          dir="auto"
          value={description.value}
          onInput={(event) => (description.value = event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="button">
        {t("action.save")}
      </button>
    </form>
  );
}

function Block({ user }: { user: User }) {
  const session = useSession();
  const blocked = session.blocks.has(user.id);
  const set = (next: boolean) => void attempt(session.blocks.set(user.id, next));
  const confirm = () =>
    showDialog({
      type: "confirm",
      title: t("info.block"),
      text: t("info.block_text", { name: isolated(user.display_name) }),
      action: t("info.block"),
      onConfirm: () => set(true),
    });
  return (
    <section>
      <button type="button" class="button danger" onClick={() => (blocked ? set(false) : confirm())}>
        {blocked ? t("info.unblock") : t("info.block")}
      </button>
    </section>
  );
}

/** Leaving, and deleting for everyone. */
function Ending({ conversation }: { conversation: Conversation }) {
  const session = useSession();
  const { id } = conversation;
  const confirm = (action: string, text: string, task: () => Promise<void>) =>
    showDialog({ type: "confirm", title: action, text, action, onConfirm: () => void attempt(task()) });
  return (
    <section class="button-row">
      <button type="button" class="button danger" onClick={() => showDialog({ type: "leave", id })}>
        {t("info.leave")}
      </button>
      {conversation.me.role === "owner" && (
        <button
          type="button"
          class="button danger"
          onClick={() =>
            confirm(t("info.delete"), t("info.delete_text"), () =>
              session.http.conversations.deleteForAll(id),
            )
          }
        >
          {t("info.delete")}
        </button>
      )}
    </section>
  );
}
