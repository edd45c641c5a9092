import type { InvitePreview } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { plural, t } from "../../i18n/index.js";
import { go, inviteTokenOf } from "../../model/place.js";
import { attempt, explained } from "../../model/tasks.js";
import { Avatar } from "../avatar.js";
import { useSession } from "../context.js";
import { fieldOf } from "../form.js";
import { Modal } from "../modal.js";
import { closeDialog } from "./state.js";

/** Joins by an invite link, after a preview of the conversation. */
export function Join({ token }: { token: string }) {
  const asked = useSignal(token);
  return (
    <Modal title={t("account.join")} onClose={closeDialog}>
      {token === "" && <LinkForm onAsked={(found) => (asked.value = found)} />}
      {asked.value !== "" && <Preview key={asked.value} token={asked.value} />}
    </Modal>
  );
}

function LinkForm({ onAsked }: { onAsked: (token: string) => void }) {
  const problem = useSignal("");
  const look = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget;
    const found = form instanceof HTMLFormElement ? inviteTokenOf(fieldOf(form, "link")) : undefined;
    problem.value = found === undefined ? t("join.no_link") : "";
    onAsked(found ?? "");
  };
  return (
    <form onSubmit={look}>
      <label class="field">
        <span>{t("join.link")}</span>
        <input name="link" required dir="ltr" autocomplete="off" />
      </label>
      <p class="problem" role="alert">
        {problem.value}
      </p>
      <button type="submit" class="button">
        {t("join.look")}
      </button>
    </form>
  );
}

function Preview({ token }: { token: string }) {
  const session = useSession();
  const invite = useSignal<InvitePreview | undefined>(undefined);
  const problem = useSignal("");
  useEffect(() => {
    session.http.groups
      .previewInvite(token)
      .then((found) => (invite.value = found))
      .catch((error: unknown) => (problem.value = explained(error)));
  }, [token]);
  if (!invite.value) {
    return (
      <p class="problem" role="alert">
        {problem.value}
      </p>
    );
  }
  return <Offer token={token} invite={invite.value} />;
}

function Offer({ token, invite }: { token: string; invite: InvitePreview }) {
  const session = useSession();
  const join = async () => {
    if (!invite.member) {
      const joined = await attempt(session.http.groups.joinByInvite(token));
      if (!joined) {
        return;
      }
      session.learn(joined.value);
    }
    go({ screen: "conversation", id: invite.conversation_id });
    closeDialog();
  };
  return (
    <div class="join-preview">
      <Avatar id={invite.conversation_id} name={invite.name} group size="large" />
      <h3>
        <bdi>{invite.name}</bdi>
      </h3>
      <p class="quiet-text">{plural("info.members", invite.member_count)}</p>
      {invite.description && <p dir="auto">{invite.description}</p>}
      <button type="button" class="button primary" onClick={() => void join()}>
        {invite.member ? t("join.open") : t("join.join")}
      </button>
    </div>
  );
}
