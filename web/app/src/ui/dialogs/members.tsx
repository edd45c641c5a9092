/** The members of a conversation and their roles. */

import type { AddedMembers, Conversation, ConversationId, User } from "@godwit/sdk";
import { useSignal } from "@preact/signals";

import { plural, t } from "../../i18n/index.js";
import { attempt, toast } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { Icon, IconButton } from "../icon.js";
import { showMenu } from "../menu.js";
import { Modal } from "../modal.js";
import { SearchField } from "../search_field.js";
import { useLoaded } from "./loaded.js";
import { memberMenu } from "./member_menu.js";
import { Person } from "./person.js";
import { PickPeople } from "./pick_people.js";
import { showDialog } from "./state.js";

const MEMBERS_SHOWN = 200;

export function Members({ conversation }: { conversation: Conversation }) {
  const session = useSession();
  const { id } = conversation;
  const query = useSignal("");
  const staff = conversation.me.role !== "member";
  const asked = query.value.trim();
  // Every change of a member is a log entry, so the head changes.
  const list = useLoaded(async () => {
    const page = await session.http.groups.members(id, {
      limit: MEMBERS_SHOWN,
      ...(asked === "" ? {} : { query: asked }),
    });
    session.people.learn(...page.members);
    return page;
  }, [asked, conversation.head]);

  return (
    <section>
      <h3>{plural("info.members", conversation.member_count)}</h3>
      {(staff || conversation.permissions?.members_may_add_members === true) && (
        <button type="button" class="button" onClick={() => showDialog({ type: "add_members", id })}>
          <Icon name="plus" /> {t("members.add")}
        </button>
      )}
      <SearchField label="members.search" value={query.value} onChange={(next) => (query.value = next)} />
      <ul class="lines">
        {list.value?.members.map((member) => (
          <Person
            key={member.id}
            id={member.id}
            detail={member.role === "member" ? undefined : t(`role.${member.role}`)}
          >
            {member.id !== session.account.id && (
              <IconButton
                icon="more"
                label={t("members.menu", { name: member.display_name })}
                onClick={(event) =>
                  showMenu(event, member.display_name, memberMenu(session, conversation, member))
                }
              />
            )}
          </Person>
        ))}
      </ul>
    </section>
  );
}

/** Reports users who could not be added. */
export function tellRefused(results: AddedMembers["results"]): void {
  const refused = results.filter((result) => !result.added);
  const needInvite = refused.filter((result) => result.error === "needs_invite").length;
  if (needInvite > 0) {
    toast(plural("members.need_invite", needInvite));
  }
  if (refused.length > needInvite) {
    toast(plural("members.refused", refused.length - needInvite));
  }
}

export function AddMembers({ id }: { id: ConversationId }) {
  const session = useSession();
  const chosen = useSignal<readonly User[]>([]);
  const back = () => showDialog({ type: "info", id });
  const add = async () => {
    const ids = chosen.value.map((user) => user.id);
    const added = await attempt(session.http.groups.addMembers(id, ids));
    if (added) {
      tellRefused(added.value.results);
      back();
    }
  };
  return (
    <Modal
      title={t("members.add")}
      onClose={back}
      footer={
        <button
          type="button"
          class="button primary"
          disabled={chosen.value.length === 0}
          onClick={() => void add()}
        >
          {t("members.add")}
        </button>
      }
    >
      <PickPeople chosen={chosen.value} onChange={(next) => (chosen.value = next)} />
    </Modal>
  );
}
