/**
 * Names for the types of the API. They are generated from the documents of the server; see scripts/generate.mjs.
 *
 * Ids are strings, because JavaScript loses integers above 2^53. Fields keep the names that they have on the wire.
 */

import type { components } from "./generated/api.js";

type Schemas = components["schemas"];

export type UserId = Schemas["UserId"];
export type DeviceId = Schemas["DeviceId"];
export type ConversationId = Schemas["ConversationId"];
export type MessageId = Schemas["MessageId"];
export type InviteId = Schemas["InviteId"];
export type ScheduledId = Schemas["ScheduledId"];
/** The position of an entry in the log of its conversation: 1, 2, 3, … without gaps. */
export type Seq = Schemas["Seq"];
export type Timestamp = Schemas["Timestamp"];

export type ErrorCode = Schemas["ErrorCode"];
export type Problem = Schemas["Problem"];

export type Register = Schemas["Register"];
export type SignIn = Schemas["SignIn"];
export type SignedIn = Schemas["SignedIn"];
export type Tokens = Schemas["Tokens"];
export type Me = Schemas["Me"];
export type MayBeAddedBy = Schemas["MayBeAddedBy"];
export type UpdateMe = Schemas["UpdateMe"];
export type ChangePassword = Schemas["ChangePassword"];
export type Device = Schemas["Device"];
export type DeviceList = Schemas["DeviceList"];

export type User = Schemas["User"];
export type UserDetails = Schemas["UserDetails"];
export type UserPage = Schemas["UserPage"];

export type Conversation = Schemas["Conversation"];
export type ConversationPage = Schemas["ConversationPage"];
export type CreateConversation = Schemas["CreateConversation"];
export type CreatedConversation = Schemas["CreatedConversation"];
export type UpdateConversation = Schemas["UpdateConversation"];
export type Membership = Schemas["Membership"];
export type UpdateMembership = Schemas["UpdateMembership"];
export type MemberCursor = Schemas["MemberCursor"];
export type MoveCursor = Schemas["MoveCursor"];
export type DeleteFor = Schemas["DeleteFor"];
export type Gone = Schemas["Gone"];
export type GoneList = Schemas["GoneList"];

export type Role = Schemas["Role"];
export type MemberPage = Schemas["MemberPage"];
export type Ban = Schemas["Ban"];
export type BanPage = Schemas["BanPage"];
export type RefusedGroups = Schemas["RefusedGroups"];
export type AddedMembers = Schemas["AddedMembers"];
export type CreateInvite = Schemas["CreateInvite"];
export type Invite = Schemas["Invite"];
export type InviteList = Schemas["InviteList"];
export type InvitePreview = Schemas["InvitePreview"];

export type Message = Schemas["Message"];
export type MessageKind = Schemas["MessageKind"];
export type MessagePage = Schemas["MessagePage"];
export type SendMessage = Schemas["SendMessage"];
export type Media = Schemas["Media"];
export type EditList = Schemas["EditList"];
export type PinList = Schemas["PinList"];
export type ReactionPage = Schemas["ReactionPage"];
export type ReceiptList = Schemas["ReceiptList"];
export type ThreadPage = Schemas["ThreadPage"];
/** One change in a conversation, discriminated by `type`. */
export type LogEntry = Schemas["LogEntry"];
export type LogPage = Schemas["LogPage"];

export type StarPage = Schemas["StarPage"];
export type ScheduleMessage = Schemas["ScheduleMessage"];
export type Scheduling = Schemas["Scheduling"];
export type Scheduled = Schemas["Scheduled"];
export type ScheduledList = Schemas["ScheduledList"];
export type UpdateScheduled = Schemas["UpdateScheduled"];

/** One change in the user's account, discriminated by `type`. */
export type AccountEntry = Schemas["AccountEntry"];
export type SyncPage = Schemas["SyncPage"];
export type Health = Schemas["Health"];

export type Hello = Schemas["Hello"];
export type SignedInSocket = Schemas["SignedInSocket"];
export type EntryEvent = Schemas["EntryEvent"];
export type EntryOmitted = Schemas["EntryOmitted"];
export type CursorEvent = Schemas["CursorEvent"];
export type TypingEvent = Schemas["TypingEvent"];
export type PresenceEvent = Schemas["PresenceEvent"];
/** The body and the reply of each socket command. */
export type Commands = Schemas["Commands"];
export type CommandName = keyof Commands;
/** The body of each socket event. */
export type Events = Schemas["Events"];
