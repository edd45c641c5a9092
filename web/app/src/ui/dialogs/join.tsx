import { useSignal } from "@preact/signals";

import { plural, t } from "../../i18n/index.js";
import { go, inviteTokenOf } from "../../model/place.js";
import { attempt } from "../../model/tasks.js";
import { Avatar } from "../avatar.js";
import { useSession } from "../context.js";
import { Modal } from "../modal.js";
import { useLoaded } from "./loaded.js";
import { closeDialog } from "./state.js";

/** Joining by a link: it is looked at before anything happens. */
export function Join({ token }: { token: string }) {
  const text = useSignal(token);
  const found = inviteTokenOf(text.value);
  return (
    <Modal title={t("account.join")} onClose={closeDialog}>
      {token === "" && (
        <label class="field">
          <span>{t("join.link")}</span>
          <input value={text.value} dir="ltr" onInput={(event) => (text.value = event.currentTarget.value)} />
        </label>
      )}
      {found !== undefined && text.value.length > 0 && <Preview key={found} token={found} />}
    </Modal>
  );
}

function Preview({ token }: { token: string }) {
  const session = useSession();
  const invite = useLoaded(() => session.http.groups.previewInvite(token), [token]).value;
  if (!invite) {
    return null;
  }
  const join = async () => {
    if (invite.member) {
      go({ screen: "conversation", id: invite.conversation_id });
      closeDialog();
      return;
    }
    const joined = await attempt(session.http.groups.joinByInvite(token));
    if (joined) {
      session.learn(joined.value);
      go({ screen: "conversation", id: joined.value.id });
      closeDialog();
    }
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
