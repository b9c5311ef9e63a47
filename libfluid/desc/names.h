/* Fluid's own spellings: names, suffixes, roles. Spelled here and nowhere else. */
#ifndef FL_DESC_NAMES_H
#define FL_DESC_NAMES_H

#define FL_GRAD_SUFFIX	 "@GRAD"
#define FL_NEWGRAD	 "@NEWGRAD@"
#define FL_EMPTY_VAR	 "@EMPTY@"
#define FL_CONTROL_VAR	 "__control_var"
#define FL_TRAINER_INFIX ".trainer_"
#define FL_BLOCK_INFIX	 ".block"
#define FL_LR_COUNTER	 "@LR_DECAY_COUNTER@"

#define FL_ATTR_ROLE	  "op_role"
#define FL_ATTR_ROLE_VAR  "op_role_var"
#define FL_ATTR_NAMESCOPE "op_namescope"
#define FL_ATTR_CALLSTACK "op_callstack"
#define FL_ATTR_DEVICE	  "op_device"
#define FL_ATTR_SUB_BLOCK "sub_block"

enum fl_role {
	FL_ROLE_FORWARD = 0,
	FL_ROLE_BACKWARD = 1,
	FL_ROLE_OPTIMIZE = 2,
	FL_ROLE_RPC = 4,
	FL_ROLE_DIST = 8,
	FL_ROLE_LRSCHED = 16,
	FL_ROLE_LOSS = 256,
	FL_ROLE_NONE = 4096
};

/* VariableMessage names with a meaning (runtime.md section 3). */
#define FL_MSG_BATCH_BARRIER	"BATCH_BARRIER@RECV"
#define FL_MSG_FETCH_BARRIER	"FETCH_BARRIER@RECV"
#define FL_MSG_COMPLETE		"COMPLETE@RECV"
#define FL_MSG_WITHOUT_BARRIER	"@WITHOUT_BARRIER@RECV"
#define FL_MSG_SAVE_CHECKPOINT	"SAVE@CHECKPOINTNOTIFY"

#endif
