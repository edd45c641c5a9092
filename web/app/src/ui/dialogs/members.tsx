/** Who is in a conversation, and with what role. */

import type { Conversation, ConversationId, MemberPage, User } from "@godwit/sdk";
import { useSignal } from "@preact/signals";

import { plural, t } from "../../i18n/index.js";
import { openDirect } from "../../model/actions.js";
import { attempt, toast } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { Icon, IconButton } from "../icon.js";
import { type MenuItem, showMenu } from "../menu.js";
import { Modal } from "../modal.js";
import { useLoaded } from "./loaded.js";
import { Person } from "./person.js";
import { PickPeople } from "./pick_people.js";
import { closeDialog, showDialog } from "./state.js";

type Member = MemberPage["members"][number];

const MEMBERS_SHOWN = 200;

export function Members({ conversation }: { conversation: Conversation }) {
  const session = useSession();
  const { id } = conversation;
  const query = useSignal("");
  const staff = conversation.me.role !== "member";
  const list = useLoaded(async () => {
    const page = await session.http.groups.members(id, {
      limit: MEMBERS_SHOWN,
      ...(query.value === "" ? {} : { query: query.value }),
    });
    session.people.learn(...page.members);
    return page;
  }, [query.value, conversation.head]);

  const change = async (task: Promise<void>) => {
    if (await attempt(task)) {
      list.reload();
    }
  };
  const menu = (member: Member): MenuItem[] => {
    const { groups } = session.http;
    const items: MenuItem[] = [
      {
        label: t("members.message"),
        icon: "send",
        onSelect: () => {
          closeDialog();
          void openDirect(session, member.id);
        },
      },
    ];
    if (staff && member.role !== "owner") {
      items.push(
        member.role === "admin"
          ? {
              label: t("members.make_member"),
              icon: "person",
              onSelect: () => void change(groups.setRole(id, member.id, "member")),
            }
          : {
              label: t("members.make_admin"),
              icon: "star",
              onSelect: () => void change(groups.setRole(id, member.id, "admin")),
            },
      );
    }
    if (conversation.me.role === "owner") {
      items.push({
        label: t("members.make_owner"),
        icon: "people",
        onSelect: () => void change(groups.transferOwnership(id, member.id)),
      });
    }
    if (staff && member.role !== "owner") {
      items.push({
        label: t("members.remove"),
        icon: "trash",
        danger: true,
        onSelect: () => void change(groups.removeMember(id, member.id)),
      });
    }
    return items;
  };

  return (
    <section>
      <h3>{plural("info.members", conversation.member_count)}</h3>
      {(staff || conversation.permissions?.members_may_add_members === true) && (
        <button type="button" class="button" onClick={() => showDialog({ type: "add_members", id })}>
          <Icon name="plus" /> {t("members.add")}
        </button>
      )}
      <div class="search">
        <Icon name="search" />
        <input
          type="search"
          placeholder={t("members.search")}
          aria-label={t("members.search")}
          onInput={(event) => (query.value = event.currentTarget.value.trim())}
        />
      </div>
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
                onClick={(event) => showMenu(event, member.display_name, menu(member))}
              />
            )}
          </Person>
        ))}
      </ul>
    </section>
  );
}

export function AddMembers({ id }: { id: ConversationId }) {
  const session = useSession();
  const chosen = useSignal<readonly User[]>([]);
  const back = () => showDialog({ type: "info", id });
  const add = async () => {
    const added = await attempt(
      session.http.groups.addMembers(
        id,
        chosen.value.map((user) => user.id),
      ),
    );
    const refused = added?.value.results.filter((result) => !result.added) ?? [];
    if (refused.length > 0) {
      toast(plural("members.refused", refused.length));
    }
    if (added) {
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
